#pragma once

#include <syncopate/syncopate.hpp>
#include <vector>

/// Code of `step` for compositions, to be looked at.
template <class T, class Delay, class Averaging>
void step(syncopate::update_scheme<T, syncopate::loopback, Delay, Averaging>& scheme, std::vector<T>& weights,
          const std::vector<T>& gradients) {
  scheme.step(weights, gradients);
}

#define STEP_OF(T, Delay, ...)                                                                                  \
  template void step<T>(syncopate::update_scheme<T, syncopate::loopback, Delay, __VA_ARGS__>&, std::vector<T>&, \
                        const std::vector<T>&)
