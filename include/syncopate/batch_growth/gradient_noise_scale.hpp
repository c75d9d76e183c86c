#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "../detail/validate.hpp"
#include "../training_signal.hpp"

namespace syncopate {

/// Grows the batch where the gradient's noise scale, tr Σ / |G|² (McCandlish et al., arXiv 1812.06162), exceeds it
/// `ratio` times: a mean over that many more samples would still be mostly noise.
///
/// Both parts are estimated from what ranks send anyway, with B samples in all and b on each of P ranks (there,
/// appendix A): |G|² ≈ (B ‖mean g‖² − b mean‖g_i‖²) / (B − b), tr Σ ≈ (mean‖g_i‖² − ‖mean g‖²) / (1/b − 1/B), and each
/// is smoothed by itself before they are divided. Ranks with different numbers of samples count as B / P each, which
/// leaves the estimates without bias (derived by this project). Needs two ranks, and
/// `scheme_options::observes_gradients`.
struct gradient_noise_scale {
  double ratio = 1;
  double decay = 0.98;             ///< of the moving averages
  std::int64_t least_steps = 100;  ///< between two growths, so that the averages know the new batch

  static constexpr std::size_t state_numbers = 3;

  bool grows(const training_signal& signal, std::array<double, state_numbers>& state) const {
    if (signal.ranks < 2) return false;
    const double all = signal.samples, each = all / signal.ranks;
    const double square = (all * signal.square_of_mean - each * signal.mean_of_squares) / (all - each);
    const double variance = (signal.mean_of_squares - signal.square_of_mean) / (1 / each - 1 / all);
    if (!std::isfinite(square) || !std::isfinite(variance)) return false;
    state[0] = decay * state[0] + (1 - decay) * square;
    state[1] = decay * state[1] + (1 - decay) * variance;
    if (++state[2] < static_cast<double>(least_steps) || !(value(state) > ratio * all)) return false;
    state[2] = 0;
    return true;
  }

  /// The estimate, in samples; 0 while there is none.
  static double value(const std::array<double, state_numbers>& state) { return state[0] > 0 ? state[1] / state[0] : 0; }

  void validate() const {
    detail::require_above(ratio, 0, "gradient_noise_scale.ratio");
    detail::require_below(decay, 0, 1, "gradient_noise_scale.decay");
    detail::require_at_least(least_steps, 1, "gradient_noise_scale.least_steps");
  }
};

}  // namespace syncopate
