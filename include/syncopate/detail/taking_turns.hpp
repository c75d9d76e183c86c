#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <functional>
#include <utility>
#include <vector>

namespace syncopate::detail {

/// Times actions in turns, round by round. Another one begins each round, so that none is always timed in the wake of
/// the same other one.
class taking_turns {
 public:
  /// `slowest` turns this rank's seconds into those of the slowest rank, and is called after each action.
  explicit taking_turns(std::function<double(double)> slowest = [](double seconds) { return seconds; })
      : slowest_(std::move(slowest)) {}

  void add(std::function<void()> action) {
    actions_.push_back(std::move(action));
    seconds_.emplace_back();
  }

  /// Times each action once; returns the seconds of the first one.
  double round() {
    for (std::size_t n = 0; n < actions_.size(); ++n) {
      const std::size_t turn = (n + rounds_) % actions_.size();
      const auto begin = std::chrono::steady_clock::now();
      actions_[turn]();
      const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
      seconds_[turn].push_back(slowest_(took.count()));
    }
    ++rounds_;
    return seconds_.front().back();
  }

  /// Forgets the rounds so far.
  void forget() {
    for (auto& times : seconds_) times.clear();
    rounds_ = 0;
  }

  /// Median over the rounds of the first action's time ÷ action `n`'s.
  double ratio(std::size_t n) const {
    if (rounds_ == 0) return 0;
    std::vector<double> ratios(rounds_);
    std::ranges::transform(seconds_.front(), seconds_[n], ratios.begin(), std::divides<>{});
    const auto middle = ratios.begin() + static_cast<std::ptrdiff_t>(rounds_ / 2);
    std::ranges::nth_element(ratios, middle);
    return *middle;
  }

 private:
  std::function<double(double)> slowest_;
  std::vector<std::function<void()>> actions_;
  std::vector<std::vector<double>> seconds_;
  std::size_t rounds_ = 0;
};

}  // namespace syncopate::detail
