#pragma once

#include <cmath>
#include <cstddef>
#include <string>

#include "../error.hpp"

namespace syncopate {

/// A network link, as two numbers: what a `thread_team` pretends to send its sums over.
struct link_model {
  double gigabits_per_second = 1;
  double latency_microseconds = 0;

  /// Seconds that a ring all-reduce of `bytes` takes: a reduce-scatter, and an all-gather of what that left.
  /// Patarasu and Yuan, Bandwidth optimal all-reduce algorithms for clusters of workstations, 2009.
  double all_reduce_seconds(std::size_t bytes, int ranks) const { return 2 * reduce_scatter_seconds(bytes, ranks); }

  /// Seconds that a ring reduce-scatter takes of `bytes` on each rank, and an all-gather of so many on all ranks
  /// together: P − 1 rounds, each of which sends the P-th part, (P − 1)·(latency + bytes / (P·bandwidth)). One rank
  /// sends nothing.
  double reduce_scatter_seconds(std::size_t bytes, int ranks) const {
    const double bytes_per_second = gigabits_per_second * 1e9 / 8;
    return (ranks - 1) * (latency_microseconds * 1e-6 + static_cast<double>(bytes) / (ranks * bytes_per_second));
  }

  /// Throws `configuration_error` unless the bandwidth is positive, the latency not negative, and both finite.
  void validate() const {
    if (!(std::isfinite(gigabits_per_second) && gigabits_per_second > 0))
      throw configuration_error("syncopate: a link's gigabits_per_second must be positive and finite, not " +
                                std::to_string(gigabits_per_second));
    if (!(std::isfinite(latency_microseconds) && latency_microseconds >= 0))
      throw configuration_error("syncopate: a link's latency_microseconds must be at least 0 and finite, not " +
                                std::to_string(latency_microseconds));
  }
};

}  // namespace syncopate
