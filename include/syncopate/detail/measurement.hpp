#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <vector>

#include "../statistics.hpp"

namespace syncopate::detail {

/// Statistics while they are being taken.
class measurement {
 public:
  using clock = std::chrono::steady_clock;

  statistics taken;

  measurement() { covered_.reserve(most + 1); }

  /// The rank was held up.
  void blocked(statistics::seconds time) { taken.exposed += time; }

  /// A message was in flight from `launched` to `landed`. What several were in flight in counts once.
  void in_flight(clock::time_point launched, clock::time_point landed) {
    interval added{std::max(launched, forgotten_until_), landed};
    if (added.end <= added.begin) return;
    const auto first = std::ranges::find_if(covered_, [&](const interval& i) { return i.end >= added.begin; });
    const auto last = std::find_if(first, covered_.end(), [&](const interval& i) { return i.begin > added.end; });
    clock::duration known{};
    for (auto i = first; i != last; ++i) {
      known += i->end - i->begin;
      added = {std::min(added.begin, i->begin), std::max(added.end, i->end)};
    }
    taken.communication += added.end - added.begin - known;
    covered_.insert(covered_.erase(first, last), added);
    if (covered_.size() <= most) return;
    forgotten_until_ = covered_.front().end;
    covered_.erase(covered_.begin());
  }

 private:
  struct interval {
    clock::time_point begin, end;
  };
  static constexpr std::size_t most = 64;  ///< that are remembered: messages of one step land in whatever order

  std::vector<interval> covered_;  ///< in order, and apart
  clock::time_point forgotten_until_ = clock::time_point::min();
};

}  // namespace syncopate::detail
