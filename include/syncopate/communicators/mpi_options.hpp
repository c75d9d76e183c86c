#pragma once

#include <climits>
#include <cstddef>
#include <string>

#include "../detail/faults.hpp"
#include "../error.hpp"

namespace syncopate {

/// Who makes MPI move the messages in flight.
enum class mpi_progress {
  automatic,  ///< a thread, where MPI allows for one and there is something to gain from it; `boost_mpi::explain` says
  on_poll,    ///< the caller, inside `test`, `wait` and so `update_scheme::poll`; works at any thread level
  on_thread   ///< a thread of its own, which makes every call itself and sleeps in between; needs `multiple`
};

/// How a sum travels.
enum class mpi_transport {
  automatic,  ///< the ring between hosts, for large sums, with a thread that drives it; else the library
  library,    ///< MPI_Iallreduce
  ring        ///< a ring of chunks, sent and received point to point, which are added as they arrive
};

/// How `boost_mpi` communicates. Ranks have to be given the same.
struct mpi_options {
  mpi_progress progress = mpi_progress::automatic;
  mpi_transport transport = mpi_transport::automatic;
  /// Largest message of the ring. By default it is just below what Open MPI sends over TCP without asking first (its
  /// btl_tcp_eager_limit): questions and answers would queue behind the data that flows the other way, and both
  /// directions take turns then.
  std::size_t chunk_bytes = std::size_t{60} << 10;
  /// Smaller sums are no matter for a thread or a ring, where these are chosen automatically.
  std::size_t large_bytes = std::size_t{256} << 10;
  /// How long the thread sleeps at most between two looks at messages in flight. Longer sleeps cost less of the
  /// processor, until the network's buffers run empty.
  double longest_sleep_microseconds = 2000;
  /// Elements or bytes of a single MPI call; what is larger is split.
  std::size_t largest_count = INT_MAX;
  /// How long a rank waits while nothing moves, until it throws `stalled`. 0: for ever; of failures it hears still,
  /// except in `boost_mpi::sum`, which may be MPI_Allreduce then.
  double stall_limit_seconds = 60;

  friend bool operator==(const mpi_options&, const mpi_options&) = default;

  /// Throws `configuration_error`.
  void validate() const {
    if (largest_count < 1 || largest_count > INT_MAX)
      throw configuration_error("syncopate: the largest_count of boost_mpi must be between 1 and INT_MAX, not " +
                                std::to_string(largest_count));
    if (chunk_bytes < sizeof(double) || chunk_bytes > INT_MAX)
      throw configuration_error("syncopate: the chunk_bytes of boost_mpi must be between 8 and INT_MAX, not " +
                                std::to_string(chunk_bytes));
    if (!(longest_sleep_microseconds >= 0 && longest_sleep_microseconds <= 1e6))
      throw configuration_error(
          "syncopate: the longest_sleep_microseconds of boost_mpi must be between 0 and 1e6, not " +
          std::to_string(longest_sleep_microseconds));
    detail::validate_stall_limit(stall_limit_seconds, "stall_limit_seconds of boost_mpi");
  }
};

}  // namespace syncopate
