#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

/// What the ranks of a benchmark do alike.
namespace syncopate::detail {

/// A number of measurements that all ranks know: neither too few to judge by nor too many to wait for.
inline std::int64_t iterations(std::int64_t wanted) { return std::clamp<std::int64_t>(wanted, 9, 999); }

/// The slowest rank's time. Collective: ranks leave it together.
template <class C>
double slowest_rank(C& communicator, double seconds) {
  std::vector<double> all(static_cast<std::size_t>(communicator.size()));
  communicator.all_gather(std::as_bytes(std::span(&seconds, 1)), std::as_writable_bytes(std::span(all)));
  return std::ranges::max(all);
}

}  // namespace syncopate::detail
