#pragma once

#include "../concepts.hpp"

namespace syncopate {

/// Ranks average gradients, and each mean advances the weights for good: synchronous SGD at delay 0, pseudo-synchronous
/// SGD (Wen et al., Int. J. Parallel Programming 2024) at delay 1. A mean that is late is first handed to the
/// predictor. Weights are bitwise equal on all ranks at every step.
template <class Predictor, class Rule>
struct gradient_averaging {
  Predictor predictor;
  Rule rule;

  template <class T>
  constexpr T message(T /*weight*/, T gradient) const {
    return gradient;
  }
  template <class T>
  constexpr void absorb(T& weight, const landed<T>& m, const auto& with) const {
    with.rule(weight, with.predict(m));
  }
};

template <class Predictor, class Rule>
gradient_averaging(Predictor, Rule) -> gradient_averaging<Predictor, Rule>;

}  // namespace syncopate
