#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "../../detail/validate.hpp"

namespace syncopate {

/// The adaptive gain of [Trigg & Leach 1967], with norms in the place of absolute values. Of the errors e = m − s it
/// smooths the vector and the length:
///
///     A ← A + φ (e − A),  D ← D + φ (‖e‖ − D),  a = clamp(‖A‖ / D, lowest_gain, 1)
///
/// Errors that point the same way again and again add up in A: the history lags, and a is near 1. Errors that are noise
/// cancel in A: the history is right, and a is small (near √(φ / (2 − φ)) in high dimension). 1 − a is the confidence
/// in the history. A and D start at zero together, so that ‖A‖ ≤ D by the triangle inequality. The first mean has a
/// = 1. D = 0 means that s never missed; then e = 0, the gain has nothing to act on, and a = 1.
///
/// Keeps one vector and, per group, one scalar.
struct tracking_signal {
  /// φ, in (0, 1]: the weight of the newest error in A and D.
  double smoothing = 0.2;
  /// In [0, 1]: the gain never falls below, so that the history cannot freeze.
  double lowest_gain = 0.1;

  static constexpr std::size_t state_vectors = 1;
  static constexpr std::size_t scalars = 1;

  /// One element of A, advanced by the error e.
  template <class T>
  constexpr T follow(T error, T signal) const {
    return signal + T(smoothing) * (error - signal);
  }

  template <class T>
  constexpr std::array<T, 2> observe(T mean, T smoothed, T signal) const {
    const T error = mean - smoothed;
    const T followed = follow(error, signal);
    return {followed * followed, error * error};
  }

  double next(std::int64_t count, const std::array<double, 2>& sums, std::array<double, 1>& scalars_kept) const {
    const auto [signal_squared, error_squared] = sums;
    double& deviation = scalars_kept[0];
    deviation += smoothing * (std::sqrt(error_squared) - deviation);
    if (count == 0 || deviation == 0) return 1;
    const double gain = std::sqrt(signal_squared) / deviation;
    return gain < lowest_gain ? lowest_gain : gain > 1 ? 1 : gain;
  }

  /// Throws `configuration_error` unless 0 < smoothing ≤ 1 and 0 ≤ lowest_gain ≤ 1.
  void validate() const {
    detail::require_positive_share(smoothing, 1, "tracking_signal.smoothing");
    detail::require_between(lowest_gain, 0, 1, "tracking_signal.lowest_gain");
  }
};

}  // namespace syncopate
