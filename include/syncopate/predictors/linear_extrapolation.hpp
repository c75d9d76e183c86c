#pragma once

#include <cstddef>
#include <cstdint>

#include "../concepts.hpp"
#include "../detail/validate.hpp"

namespace syncopate {

/// Continues the line through the last two means that arrived, h steps ahead:
///
///     ĝ = m + h (m − m_previous);  the first mean: ĝ = m
///
/// It amplifies noise, and narrows the range of stable learning rates: on a quadratic, at delay 1 without momentum,
/// learning rate × curvature must stay below 0.829 for h = 0.5 and 0.618 for h = 1, against 1 without prediction
/// (derived by this project).
struct linear_extrapolation {
  /// h ≥ 0; 0 is `no_prediction`.
  double horizon = 1;

  static constexpr std::size_t state_vectors = 1;

  constexpr double prepare(std::int64_t count) const { return count == 0 ? 0.0 : horizon; }

  template <class T>
  constexpr T predict(const landed<T>& m, T& previous, const double& reach) const {
    const T extrapolated = m.mean + T(reach) * (m.mean - previous);
    previous = m.mean;
    return extrapolated;
  }

  /// Throws `configuration_error` unless the horizon is finite and not negative.
  void validate() const { detail::require_at_least(horizon, 0, "linear_extrapolation.horizon"); }
};

}  // namespace syncopate
