#pragma once

#include "../concepts.hpp"
#include "../detail/validate.hpp"

namespace syncopate {

/// Predicts the mean in flight from this rank's own contribution to it, which is fresh and noisy, and the newest mean
/// that arrived, which is late and smooth (this project):
///
///     ĝ_i = m + a (g_i − m)
///
/// Before the first mean has arrived m is zero and ĝ_i = a g_i: a cautious first step. Only for averagings that look
/// ahead: committed, it would leave every rank with weights of its own. Best at delay 1; it diverged beyond.
struct blended_gradient {
  /// a, in [0, 1]; 0 is `no_prediction`, 1 is `local_gradient` up to rounding.
  double own_share = 0.2;

  static constexpr bool keeps_own = true;
  static constexpr bool looks_ahead_only = true;

  template <class T>
  constexpr T predict(const landed<T>& m) const {
    return m.mean + T(own_share) * (m.own - m.mean);
  }

  /// Throws `configuration_error` unless 0 ≤ own_share ≤ 1.
  void validate() const { detail::require_between(own_share, 0, 1, "blended_gradient.own_share"); }
};

}  // namespace syncopate
