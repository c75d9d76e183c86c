#pragma once

#include "../concepts.hpp"

namespace syncopate {

/// Takes the mean and drops what this rank did meanwhile: w ← a. At delay 0 this is local SGD.
struct replace {
  template <class T>
  constexpr T merge(T, const landed<T>& m) const {
    return m.mean;
  }
};

}  // namespace syncopate
