#pragma once

#include <mpi.h>

#include <boost/mpi/communicator.hpp>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "../concepts.hpp"
#include "../detail/mpi/communicator.hpp"
#include "mpi_options.hpp"

namespace syncopate {

/// The ranks of a Boost.MPI communicator; models `Communicator`. Copies name the same channel.
///
/// It works on duplicates of the communicator that it is given, so that its messages never meet the user's own. They
/// are freed with the last copy, which has to happen on all ranks, unless MPI has been finalized by then.
///
/// - MPI libraries move messages only inside calls of theirs, also those of a "non-blocking" sum. Who makes these calls
///   is a matter of `mpi_options::progress`: the caller, in `test` (that is, `update_scheme::poll`), or a thread.
/// - *on_poll*: all calls come from one thread at a time. If that is always the main thread, `boost::mpi::environment`
///   may be initialised at any thread level (`funneled` says so; `single` works, too), else at `serialized` or above. A
///   sum by the ring goes on only where this library tests or waits: a rank that blocks in something else, such as a
///   call of MPI, holds up the ranks that wait for it.
/// - *on_thread*: needs `boost::mpi::threading::multiple`. One thread per process, shared by all communicators, makes
///   every call. It may run on any core, sleeps between looks, and while nothing is in flight.
/// - Which ranks add in which order is up to the library, or to the ring; the result is bitwise the same on all ranks.
///   (Of the library that is a recommendation of the MPI standard, which Open MPI and MPICH follow.) It does not depend
///   on who makes the calls, nor when.
/// - MPI cannot tell when ranks call different things: they stall, or get wrong sums. The layout of an `update_scheme`,
///   which is agreed first, keeps that from happening.
///
/// Everything may throw `communication_error`, with MPI's text and what was tried. MPI leaves open what still works
/// after that. What waits for other ranks, the constructor included, moreover throws
///
/// - `stalled`, once nothing moved on the channel for `mpi_options::stall_limit_seconds`. Ranks that wait for half of
///   that tell each other; whoever gives up names those from whom nothing came. If all wait in the same call, then none
///   is missing and the transfer just takes long: that is waited for.
/// - `peer_failure`, once a rank has called `fail`; `test` and what starts an operation do so, too.
///
/// Then nothing collective works any more on this communicator and its duplicates. To let go of them, and of sums in
/// flight, is safe and does not wait. What a program has to do is to leave: to catch the error where the
/// `boost::mpi::environment` still exists, to print it, and to return from main with a failure. `MPI_Finalize` then
/// waits until all ranks that live call it, too. That they do, since they get the error as well; who may be elsewhere,
/// as in a collective of one's own, needs `boost::mpi::environment::abort`, which may end others before they have
/// printed theirs.
///
/// If a process is killed, launchers end all others at once, before they find out. Open MPI's `mpirun
/// --enable-recovery --mca async_mpi_finalize 1` leaves them alone: they throw `stalled`, `MPI_Finalize` does not wait
/// for the dead (tried: Open MPI 4.1.4, shared memory and TCP; without the second option it does so about one time in
/// forty), and mpirun returns 0, whatever they return. MPICH 4.0 ends the job even with `-disable-auto-cleanup`, when
/// the first one finalizes or the network notices.
class boost_mpi {
 public:
  /// A sum, or a half of one, in flight. A request that was moved from is complete.
  ///
  /// Destroying it unfinished does not wait: the sum goes on and its memory is read and written, which therefore has to
  /// outlive it. (MPI offers no way out: MPI_Request_free and MPI_Cancel are not allowed on collectives.) The channel
  /// is then kept, and MPI wants the sum completed before it is finalized.
  using request = detail::mpi_communicator::request;

  /// Collective. Throws, on all ranks, `configuration_error` if options make no sense, differ between ranks, or ask for
  /// what the thread level of MPI does not allow.
  explicit boost_mpi(const boost::mpi::communicator& communicator = {}, const mpi_options& options = {})
      : ranks_(MPI_Comm(communicator), options) {}

  int rank() const { return ranks_.rank(); }
  int size() const { return ranks_.size(); }

  /// Collective: MPI communicators of their own, of the same ranks.
  boost_mpi duplicate() const { return boost_mpi(ranks_.duplicate()); }

  /// Collective: starts a sum in place.
  template <Element T>
  [[nodiscard]] request start_sum(std::span<T> elements) {
    return ranks_.start_sum(elements);
  }

  /// Collective: starts the same sum of `size()` equal blocks in place, of which each rank gets its own one.
  template <Element T>
  [[nodiscard]] request start_reduce_scatter(std::span<T> elements) {
    return ranks_.start_reduce_scatter(elements);
  }

  /// Collective: starts to bring each rank's own of `size()` equal blocks to all, in place.
  template <Element T>
  [[nodiscard]] request start_all_gather(std::span<T> elements) {
    return ranks_.start_all_gather(elements);
  }

  /// Collective: starts to bring block j of rank i to rank j, as its block i, of `size()` equal blocks on each rank.
  /// Always by the library, MPI_Ialltoall. A block has at most `mpi_options::largest_count` elements.
  template <Element T>
  [[nodiscard]] request start_all_to_all(std::span<T> elements) {
    return ranks_.start_all_to_all(elements);
  }

  /// Collective, blocking: a sum in place. Large ones take the ring where nothing else was asked for: it does best when
  /// all ranks wait. MPI_Allreduce is faster still, most of all for small sums, but no failure ends it; it is used
  /// where the library sums in the caller's thread and `stall_limit_seconds` is 0.
  ///
  /// If it throws, MPI may still write to the elements, as after a request that was destroyed unfinished.
  template <Element T>
  void sum(std::span<T> elements) {
    ranks_.sum(elements);
  }

  /// Collective, blocking.
  void broadcast(std::span<std::byte> bytes, int root) { ranks_.broadcast(bytes, root); }

  /// Collective, blocking: every rank's `own`, one after the other.
  void all_gather(std::span<const std::byte> own, std::span<std::byte> all) { ranks_.all_gather(own, all); }

  /// This rank goes no further: others get a `peer_failure` with its number and this text (399 bytes of it; if it is
  /// empty, that of the rank's own `stalled`) in every operation that this rank has not completed, on this channel and
  /// on those that are duplicates of each other with it. They learn of it by one small message, where they wait, test
  /// or start something; the first failure that a rank hears of is the one that it tells. Not collective, never blocks,
  /// may be called while an exception unwinds the stack.
  void fail(std::string_view what) const noexcept { ranks_.fail(what); }

  /// How a sum of so many bytes is done that is started, and why: "progress on_thread, since …; transport ring, since
  /// …".
  std::string explain(std::size_t bytes) const { return text_of(ranks_.choice(bytes)); }

  /// What the sums have cost this rank so far.
  communication_cost cost() const { return ranks_.cost(); }

 private:
  explicit boost_mpi(detail::mpi_communicator ranks) : ranks_(std::move(ranks)) {}

  detail::mpi_communicator ranks_;
};

}  // namespace syncopate
