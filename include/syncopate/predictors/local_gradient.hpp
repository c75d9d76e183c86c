#pragma once

#include "../concepts.hpp"

namespace syncopate {

/// Predicts the mean in flight by this rank's own contribution to it: ĝ_i = g_i, the local update of OD-SGD
/// [Xu et al. 2020]. Only for averagings that look ahead: committed, it would leave every rank with weights of its own.
struct local_gradient {
  static constexpr bool keeps_own = true;
  static constexpr bool looks_ahead_only = true;

  template <class T>
  constexpr T predict(const landed<T>& m) const {
    return m.own;
  }
};

}  // namespace syncopate
