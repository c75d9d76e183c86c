#pragma once

#include <cstddef>
#include <cstdint>

#include "../concepts.hpp"
#include "../detail/validate.hpp"

namespace syncopate {

/// Exponential smoothing of the means that arrived, with a fixed gain a [Brown 1959]:
///
///     s ← s + a (m − s),  ĝ = s;  the first mean: s = m
///
/// Smoothing lowers the variance of a late gradient; it buys no stability (`x < 1` at delay 1, whatever the gain).
struct exponential_smoothing {
  /// Weight of the newest mean, in (0, 1]; 1 is `no_prediction`.
  double gain = 0.5;

  static constexpr std::size_t state_vectors = 1;

  constexpr double prepare(std::int64_t count) const { return count == 0 ? 1.0 : gain; }

  template <class T>
  constexpr T predict(const landed<T>& m, T& smoothed, const double& step_gain) const {
    return smoothed += T(step_gain) * (m.mean - smoothed);
  }

  /// Throws `configuration_error` unless 0 < gain ≤ 1.
  void validate() const { detail::require_positive_share(gain, 1, "exponential_smoothing.gain"); }
};

}  // namespace syncopate
