#pragma once

#include <algorithm>
#include <chrono>

#include "../statistics.hpp"

namespace syncopate::detail {

/// Statistics while they are being taken. Messages land in the order in which they left, so the time during which
/// something is in flight is a union of intervals that grows at its end.
class measurement {
 public:
  using clock = std::chrono::steady_clock;

  statistics taken;

  /// The rank was held up.
  void blocked(statistics::seconds time) { taken.exposed += time; }

  /// A message was in flight from `launched` to `landed`.
  void in_flight(clock::time_point launched, clock::time_point landed) {
    launched = std::max(launched, covered_until_);
    if (landed <= launched) return;
    taken.communication += landed - launched;
    covered_until_ = landed;
  }

 private:
  clock::time_point covered_until_ = clock::time_point::min();
};

}  // namespace syncopate::detail
