#pragma once

#include "../concepts.hpp"

namespace syncopate {

/// Ranks average gradients, and each mean advances the weights for good: synchronous SGD at delay 0, pseudo-synchronous
/// SGD (Wen et al., Int. J. Parallel Programming 2024) at delay 1. A mean that is late is first handed to the
/// predictor. Weights are bitwise equal on all ranks at every step. With a delay policy that launches no message at
/// some steps, gradients are accumulated: with `periodic_delay{4, 0}`, say, four steps are one of a batch four times as
/// large, and the mean's sum over these steps is what advances the weights.
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
