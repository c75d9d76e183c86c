#pragma once

#include <mpi.h>

#include <algorithm>
#include <boost/mpi/communicator.hpp>
#include <boost/mpi/datatype.hpp>
#include <climits>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "../concepts.hpp"
#include "../error.hpp"

namespace syncopate {

/// The ranks of a Boost.MPI communicator; models `Communicator`. Copies name the same channel.
///
/// It works on a duplicate of the communicator that it is given, so that its messages never meet the user's own. The
/// duplicate is freed with the last copy, which has to happen on all ranks, unless MPI has been finalized by then.
///
/// - Most MPI libraries move messages only inside library calls: between the start of a sum and its `wait`, something
///   has to call `test`, which is what `update_scheme::poll` does.
/// - All calls come from one thread at a time. If that is always the main thread, `boost::mpi::environment` may be
///   initialised at any thread level (`funneled` says so; `single` works, too), else at `serialized` or above.
/// - The order of summation is MPI's own. That its result is bitwise the same on all ranks is a recommendation of the
///   MPI standard (section on predefined reduction operations), which Open MPI and MPICH follow.
/// - MPI cannot tell when ranks call different things: they hang, or get wrong sums. The layout of an `update_scheme`,
///   which is agreed first, keeps that from happening.
///
/// Everything may throw `communication_error`, with MPI's text and what was tried. MPI leaves open what still works
/// after that.
class boost_mpi {
 public:
  /// A sum in flight. A request that was moved from is complete.
  ///
  /// Destroying it unfinished does not wait: MPI goes on with the sum and reads and writes its memory, which therefore
  /// has to outlive it. (MPI offers no way out: MPI_Request_free and MPI_Cancel are not allowed on collectives.) The
  /// channel is then kept until MPI is finalized, and MPI wants the sum completed before that.
  class request;

  /// Collective. `largest_count` bounds the elements or bytes of a single MPI call; what is larger is split. It has to
  /// be the same on all ranks; `configuration_error` unless it is in [1, INT_MAX].
  explicit boost_mpi(const boost::mpi::communicator& communicator = {}, std::size_t largest_count = INT_MAX)
      : channel_(std::make_shared<channel>(communicator, largest_count)) {}

  int rank() const { return channel_->rank; }
  int size() const { return channel_->size; }

  /// Collective: a new MPI communicator of the same ranks.
  boost_mpi duplicate() const {
    require_mpi("duplicate a communicator");
    return boost_mpi({channel_->handle, boost::mpi::comm_attach}, channel_->largest_count);
  }

  /// Collective: starts MPI_Iallreduce in place, one for each `largest_count` elements.
  template <Element T>
  [[nodiscard]] request start_sum(std::span<T> elements);

  /// Collective, blocking.
  void broadcast(std::span<std::byte> bytes, int root) {
    require_mpi("broadcast");
    for_each_piece(bytes, [&](std::span<std::byte> piece) {
      check(MPI_Bcast(piece.data(), static_cast<int>(piece.size()), MPI_BYTE, root, channel_->handle), "broadcast",
            piece.size());
    });
  }

  /// Collective, blocking: every rank's `own`, one after the other.
  void all_gather(std::span<const std::byte> own, std::span<std::byte> all) {
    require_mpi("gather");
    const auto ranks = static_cast<std::size_t>(size());
    if (all.size() != own.size() * ranks)
      throw communication_error("syncopate: an all_gather of " + std::to_string(own.size()) + " bytes per rank from " +
                                std::to_string(ranks) + " ranks does not fit " + std::to_string(all.size()) + " bytes");
    if (own.size() <= channel_->largest_count) {
      const int count = static_cast<int>(own.size());
      check(MPI_Allgather(own.data(), count, MPI_BYTE, all.data(), count, MPI_BYTE, channel_->handle), "gather",
            own.size());
    } else {
      std::ranges::copy(own, all.subspan(static_cast<std::size_t>(rank()) * own.size()).begin());
      for (int root = 0; root < size(); ++root)
        broadcast(all.subspan(static_cast<std::size_t>(root) * own.size(), own.size()), root);
    }
  }

 private:
  /// A communicator of our own.
  struct channel {
    channel(const boost::mpi::communicator& original, std::size_t largest) : largest_count(largest) {
      if (largest < 1 || largest > INT_MAX)
        throw configuration_error("syncopate: the largest_count of boost_mpi must be between 1 and INT_MAX, not " +
                                  std::to_string(largest));
      require_mpi("duplicate a communicator");
      check(MPI_Comm_dup(MPI_Comm(original), &handle), "duplicate a communicator");
      check(MPI_Comm_set_errhandler(handle, MPI_ERRORS_RETURN), "set an error handler");
      check(MPI_Comm_rank(handle, &rank), "ask for the rank");
      check(MPI_Comm_size(handle, &size), "ask for the number of ranks");
    }
    channel(const channel&) = delete;
    channel& operator=(const channel&) = delete;
    ~channel() {
      int finalized = 0;
      MPI_Finalized(&finalized);
      if (!finalized && !abandoned) MPI_Comm_free(&handle);
    }

    MPI_Comm handle = MPI_COMM_NULL;
    int rank = 0, size = 1;
    std::size_t largest_count;
    bool abandoned = false;  ///< sums without a request may still be going on
  };

  static void require_mpi(const char* attempt) {
    int initialized = 0, finalized = 0;
    MPI_Initialized(&initialized);
    MPI_Finalized(&finalized);
    if (!initialized || finalized)
      throw communication_error(std::string("syncopate: cannot ") + attempt +
                                (finalized ? ": MPI is finalized already; let the boost::mpi::environment live longer"
                                           : ": MPI is not initialised; create a boost::mpi::environment first"));
  }

  static void check(int code, const char* attempt, std::size_t count = 0) {
    if (code == MPI_SUCCESS) return;
    char text[MPI_MAX_ERROR_STRING] = "";
    int length = 0;
    MPI_Error_string(code, text, &length);
    throw communication_error(std::string("syncopate: MPI could not ") + attempt +
                              (count > 0 ? " (count " + std::to_string(count) + ")" : "") + ": " +
                              std::string(text, static_cast<std::size_t>(length)));
  }

  template <class T, class Function>
  void for_each_piece(std::span<T> elements, Function function) const {
    while (!elements.empty()) {
      const std::size_t length = std::min(elements.size(), channel_->largest_count);
      function(elements.first(length));
      elements = elements.subspan(length);
    }
  }

  std::shared_ptr<channel> channel_;
};

class boost_mpi::request {
 public:
  request(request&& other) noexcept
      : channel_(std::move(other.channel_)),
        first_(std::exchange(other.first_, MPI_REQUEST_NULL)),
        further_(std::exchange(other.further_, {})) {}
  request& operator=(request other) noexcept {
    channel_.swap(other.channel_);
    std::swap(first_, other.first_);
    further_.swap(other.further_);
    return *this;
  }
  ~request() {
    if (!complete()) channel_->abandoned = true;
  }

  /// Whether the sum is there; lets MPI progress.
  bool test() {
    return test(first_) && std::ranges::all_of(further_, [](MPI_Request& piece) { return test(piece); });
  }

  /// Blocks until it is. MPI libraries usually spin.
  void wait() {
    wait(first_);
    for (MPI_Request& piece : further_) wait(piece);
  }

 private:
  friend boost_mpi;
  explicit request(std::shared_ptr<channel> channel) : channel_(std::move(channel)) {}

  bool complete() const {
    const auto null = [](MPI_Request piece) { return piece == MPI_REQUEST_NULL; };
    return null(first_) && std::ranges::all_of(further_, null);
  }
  static bool test(MPI_Request& piece) {
    int done = 1;
    if (piece != MPI_REQUEST_NULL) check(MPI_Test(&piece, &done, MPI_STATUS_IGNORE), "continue a sum");
    return done != 0;
  }
  static void wait(MPI_Request& piece) {
    if (piece != MPI_REQUEST_NULL) check(MPI_Wait(&piece, MPI_STATUS_IGNORE), "complete a sum");
  }

  std::shared_ptr<channel> channel_;
  MPI_Request first_ = MPI_REQUEST_NULL;
  std::vector<MPI_Request> further_;  // only where a sum had to be split, so that others allocate nothing
};

template <Element T>
boost_mpi::request boost_mpi::start_sum(std::span<T> elements) {
  require_mpi("start a sum");
  request started(channel_);
  if (elements.size() > channel_->largest_count) started.further_.reserve(elements.size() / channel_->largest_count);
  for_each_piece(elements, [&](std::span<T> piece) {
    MPI_Request pending = MPI_REQUEST_NULL;
    check(MPI_Iallreduce(MPI_IN_PLACE, piece.data(), static_cast<int>(piece.size()), boost::mpi::get_mpi_datatype<T>(),
                         MPI_SUM, channel_->handle, &pending),
          "start a sum", piece.size());
    if (piece.data() == elements.data())
      started.first_ = pending;
    else
      started.further_.push_back(pending);
  });
  return started;
}

}  // namespace syncopate
