#pragma once

#include "../concepts.hpp"
#include "../detail/validate.hpp"

namespace syncopate {

/// Corrects a late gradient for the way the weights went meanwhile, with the squared gradient as a guess of the
/// Hessian's diagonal [Zheng et al. 2017, DC-ASGD]:
///
///     ĝ = m + λ m ⊙ m ⊙ (W_now − W_then)
struct delay_compensation {
  /// λ ≥ 0; 0 is `no_prediction`. The default is the one of OD-SGD's authors.
  double strength = 0.04;

  static constexpr bool keeps_weights = true;

  template <class T>
  constexpr T predict(const landed<T>& m) const {
    return m.mean + T(strength) * m.mean * m.mean * (m.weight - m.weight_then);
  }

  /// Throws `configuration_error` unless the strength is finite and not negative.
  void validate() const { detail::require_at_least(strength, 0, "delay_compensation.strength"); }
};

}  // namespace syncopate
