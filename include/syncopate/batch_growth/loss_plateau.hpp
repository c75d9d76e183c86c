#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "../detail/validate.hpp"
#include "../training_signal.hpp"

namespace syncopate {

/// Grows the batch where training slows down: where the mean loss over a window of steps is not below that over the
/// window before it by at least this fraction. After growing it begins anew. Needs `update_scheme::note_loss`.
struct loss_plateau {
  std::int64_t window = 100;
  double least_improvement = 0.05;

  static constexpr std::size_t state_numbers = 4;

  bool grows(const training_signal& signal, std::array<double, state_numbers>& state) const {
    auto& [sum, count, mean_before, windows_before] = state;
    sum += signal.loss;
    if (++count < static_cast<double>(window)) return false;
    const double mean = sum / static_cast<double>(window);
    const bool slow = windows_before > 0 && !(mean < (1 - least_improvement) * mean_before);
    state = {0, 0, mean, slow ? 0. : 1.};
    return slow;
  }

  void validate() const {
    detail::require_at_least(window, 1, "loss_plateau.window");
    detail::require_between(least_improvement, 0, 1, "loss_plateau.least_improvement");
  }
};

}  // namespace syncopate
