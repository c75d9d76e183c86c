#pragma once

#include "../concepts.hpp"
#include "../detail/validate.hpp"

namespace syncopate {

/// DaSGD's merge [Zhou et al. 2020]: a late mean a of weights and the rank's own weights are mixed:
///
///     w ← a + ξ (w − a);  a fresh mean replaces the weights (local SGD)
///
/// It equals `two_parameter_merge` with θ = ξ, and needs no snapshot.
struct blend {
  /// ξ, in [0, 1]: how much of its own weights a rank keeps. 1: ranks never meet.
  double own_share = 0.25;

  template <class T>
  constexpr T merge(T weight, const landed<T>& m) const {
    const double share = m.staleness == 0 ? 0.0 : own_share;
    return m.mean + T(share) * (weight - m.mean);
  }

  /// Throws `configuration_error` unless 0 ≤ own_share ≤ 1.
  void validate() const { detail::require_between(own_share, 0, 1, "blend.own_share"); }
};

}  // namespace syncopate
