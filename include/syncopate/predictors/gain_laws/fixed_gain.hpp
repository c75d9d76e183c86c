#pragma once

#include <cstdint>

#include "../../detail/validate.hpp"

namespace syncopate {

/// The gain law that does not adapt: `adaptive_exponential_smoothing{fixed_gain{a}}` is `exponential_smoothing{a}`,
/// bitwise. The control of an experiment on gain laws.
struct fixed_gain {
  /// Weight of the newest mean, in (0, 1].
  double gain = 0.5;

  constexpr double next(std::int64_t count) const { return count == 0 ? 1.0 : gain; }

  /// Throws `configuration_error` unless 0 < gain ≤ 1.
  void validate() const { detail::require_positive_share(gain, 1, "fixed_gain.gain"); }
};

}  // namespace syncopate
