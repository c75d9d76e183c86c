#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "../error.hpp"
#include "../training_signal.hpp"

namespace syncopate {

/// Grows the batch once for each of these steps that has been reached.
struct milestones {
  std::vector<std::int64_t> steps;

  static constexpr std::size_t state_numbers = 1;  ///< how many have been reached

  bool grows(const training_signal& signal, std::array<double, state_numbers>& state) const {
    const auto reached = static_cast<std::size_t>(state[0]);
    if (reached >= steps.size() || signal.step < steps[reached]) return false;
    ++state[0];
    return true;
  }

  void validate() const {
    std::int64_t before = -1;
    for (const std::int64_t step : steps) {
      if (step <= before)
        throw configuration_error("syncopate: milestones.steps must be numbers of steps in ascending order");
      before = step;
    }
  }
};

}  // namespace syncopate
