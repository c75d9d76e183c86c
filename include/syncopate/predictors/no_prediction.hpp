#pragma once

#include "../concepts.hpp"

namespace syncopate {

/// Takes the newest mean that arrived as the gradient: ĝ = m. At delay 1 this is Pipe-SGD [Li et al. 2018] with two
/// iterations in flight, and the delayed parameter update of ZeRO-Offload [Ren et al. 2021].
struct no_prediction {
  template <class T>
  constexpr T predict(const landed<T>& m) const {
    return m.mean;
  }
};

}  // namespace syncopate
