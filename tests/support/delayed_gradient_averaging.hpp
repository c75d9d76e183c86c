#pragma once

#include <limits>

#include "syncopate/concepts.hpp"
#include "syncopate/error.hpp"

namespace support {

/// Delayed gradient averaging (Zhu et al., NeurIPS 2021): w_i ← w_i − η g_i at once, and when the mean of d steps ago
/// has arrived, the own gradient of then is exchanged for it. An averaging with hyper-parameters of its own, and
/// without a rule.
struct delayed_gradient_averaging {
  double learning_rate = 0.1;

  static constexpr bool keeps_own = true;

  template <class T>
  constexpr void advance(T& weight, T gradient, const auto&) const {
    weight -= T(learning_rate) * gradient;
  }
  template <class T>
  constexpr T message(T, T gradient) const {
    return gradient;
  }
  template <class T>
  constexpr void absorb(T& weight, const syncopate::landed<T>& m, const auto&) const {
    weight -= T(learning_rate) * (m.mean - m.own);
  }
  void validate() const {
    if (!(learning_rate > 0 && learning_rate <= std::numeric_limits<double>::max()))
      throw syncopate::configuration_error("syncopate: delayed_gradient_averaging.learning_rate");
  }
};

}  // namespace support
