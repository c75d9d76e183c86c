#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "../../detail/validate.hpp"

namespace syncopate {

/// Trusts the history as far as the newest mean points the same way (this project):
///
///     a = 1 − c max(0, cos(m, s))
///
/// A history that disagrees is dropped at once. Where m or s is zero there is no angle: a = 1. Keeps no vector.
struct cosine_gate {
  /// Confidence c in a history that is parallel to the newest mean, in [0, 1); 0 is `no_prediction`.
  double strength = 0.5;

  template <class T>
  constexpr std::array<T, 3> observe(T mean, T smoothed) const {
    return {mean * smoothed, mean * mean, smoothed * smoothed};
  }

  double next(std::int64_t count, const std::array<double, 3>& sums, std::array<double, 0>&) const {
    const auto [dot, mean_squared, smoothed_squared] = sums;
    const double norms = std::sqrt(mean_squared) * std::sqrt(smoothed_squared);
    if (count == 0 || norms == 0) return 1;
    const double cosine = dot / norms;
    return 1 - strength * (cosine < 0 ? 0 : cosine > 1 ? 1 : cosine);
  }

  /// Throws `configuration_error` unless 0 ≤ strength < 1: at 1 a parallel mean would be ignored.
  void validate() const { detail::require_below(strength, 0, 1, "cosine_gate.strength"); }
};

}  // namespace syncopate
