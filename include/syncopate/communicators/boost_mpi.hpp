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
///   sum by the ring goes on only where sums are tested or waited for: a rank that blocks in something else (a call of
///   MPI, the constructor, or `sum`, which is `MPI_Allreduce`) holds up the ranks that wait for it.
/// - *on_thread*: needs `boost::mpi::threading::multiple`. One thread per process, shared by all communicators, makes
///   every call. It may run on any core, sleeps between looks, and while nothing is in flight.
/// - Which ranks add in which order is up to the library, or to the ring; the result is bitwise the same on all ranks.
///   (Of the library that is a recommendation of the MPI standard, which Open MPI and MPICH follow.) It does not depend
///   on who makes the calls, nor when.
/// - MPI cannot tell when ranks call different things: they hang, or get wrong sums. The layout of an `update_scheme`,
///   which is agreed first, keeps that from happening.
///
/// Everything may throw `communication_error`, with MPI's text and what was tried. MPI leaves open what still works
/// after that.
class boost_mpi {
 public:
  /// A sum in flight. A request that was moved from is complete.
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

  /// Collective, blocking: a sum in place, by MPI_Allreduce where the library sums in the caller's thread.
  template <Element T>
  void sum(std::span<T> elements) {
    ranks_.sum(elements);
  }

  /// Collective, blocking.
  void broadcast(std::span<std::byte> bytes, int root) { ranks_.broadcast(bytes, root); }

  /// Collective, blocking: every rank's `own`, one after the other.
  void all_gather(std::span<const std::byte> own, std::span<std::byte> all) { ranks_.all_gather(own, all); }

  /// This rank goes no further: others get a `peer_failure` with its number and this text in every operation of this
  /// channel that this rank has not completed, and of the channels that are duplicates of each other with it. They
  /// learn of it by one small message, where they wait, test or start something. Not collective, never blocks, may be
  /// called while an exception unwinds the stack.
  void fail(std::string_view what) const noexcept { ranks_.fail(what); }

  /// How a sum of so many bytes is done, and why: "progress on_thread, since …; transport ring, since …".
  std::string explain(std::size_t bytes) const { return text_of(ranks_.choice(bytes)); }

  /// What the sums have cost this rank so far.
  communication_cost cost() const { return ranks_.cost(); }

 private:
  explicit boost_mpi(detail::mpi_communicator ranks) : ranks_(std::move(ranks)) {}

  detail::mpi_communicator ranks_;
};

}  // namespace syncopate
