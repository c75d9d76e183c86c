#pragma once

#include <chrono>
#include <cstddef>
#include <vector>

#include "../../statistics.hpp"
#include "../bodies.hpp"

namespace syncopate::detail {

/// Statistics while they are being taken.
class measurement {
 public:
  using time_point = std::chrono::steady_clock::time_point;

  statistics taken;

  measurement() { covered_.reserve(most + 1); }

  /// The rank was held up.
  void blocked(statistics::seconds time) { taken.exposed += time; }

  /// A message was in flight from `launched` to `landed`. What several were in flight in counts once.
  void in_flight(time_point launched, time_point landed);

 private:
  struct interval {
    time_point begin, end;
  };
  static constexpr std::size_t most = 64;  ///< that are remembered: messages of one step land in whatever order

  std::vector<interval> covered_;  ///< in order, and apart
  time_point forgotten_until_ = time_point::min();
};

#if SYNCOPATE_BODIES

SYNCOPATE_FUNCTION void measurement::in_flight(time_point launched, time_point landed) {
  interval added{launched < forgotten_until_ ? forgotten_until_ : launched, landed};
  if (added.end <= added.begin) return;
  auto first = covered_.begin();
  while (first != covered_.end() && first->end < added.begin) ++first;
  std::chrono::steady_clock::duration known{};
  auto last = first;
  for (; last != covered_.end() && last->begin <= added.end; ++last) {
    known += last->end - last->begin;
    if (last->begin < added.begin) added.begin = last->begin;
    if (added.end < last->end) added.end = last->end;
  }
  taken.communication += added.end - added.begin - known;
  covered_.insert(covered_.erase(first, last), added);
  if (covered_.size() <= most) return;
  forgotten_until_ = covered_.front().end;
  covered_.erase(covered_.begin());
}

#endif

}  // namespace syncopate::detail
