#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <functional>
#include <utility>
#include <vector>

namespace syncopate::detail {

/// Times an action next to others, pair by pair. Within a pair now one and now the other goes first: an action takes
/// longer in the wake of one that leaves other memory in the caches.
class taking_turns {
 public:
  /// `slowest` turns this rank's seconds into those of the slowest rank, and is called after each action.
  explicit taking_turns(std::function<double(double)> slowest = [](double seconds) { return seconds; })
      : slowest_(std::move(slowest)) {}

  /// The first one is the one that the others are compared with.
  void add(std::function<void()> action) {
    actions_.push_back(std::move(action));
    ratios_.emplace_back();
  }

  /// Times the first action once with each other one; returns its mean time in seconds.
  double round() {
    if (actions_.size() == 1) return timed(0);
    double sum = 0;
    for (std::size_t n = 1; n < actions_.size(); ++n) {
      const bool goes_first = (rounds_ + n) % 2 == 0;
      const double before = goes_first ? timed(0) : timed(n), after = goes_first ? timed(n) : timed(0);
      const double first = goes_first ? before : after, other = goes_first ? after : before;
      ratios_[n].push_back(first / other);
      sum += first;
    }
    ++rounds_;
    return sum / static_cast<double>(actions_.size() - 1);
  }

  /// Forgets the rounds so far.
  void forget() {
    for (auto& ratios : ratios_) ratios.clear();
  }

  /// Median over the rounds of the first action's time ÷ action `n`'s; 0 without a round.
  double ratio(std::size_t n) const {
    std::vector<double> ratios = ratios_[n];
    if (ratios.empty()) return 0;
    const auto middle = ratios.begin() + static_cast<std::ptrdiff_t>(ratios.size() / 2);
    std::ranges::nth_element(ratios, middle);
    return *middle;
  }

 private:
  double timed(std::size_t n) const {
    const auto begin = std::chrono::steady_clock::now();
    actions_[n]();
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    return slowest_(took.count());
  }

  std::function<double(double)> slowest_;
  std::vector<std::function<void()>> actions_;
  std::vector<std::vector<double>> ratios_;
  std::size_t rounds_ = 0;
};

}  // namespace syncopate::detail
