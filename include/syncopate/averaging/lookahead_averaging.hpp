#pragma once

#include "../concepts.hpp"

namespace syncopate {

/// Ranks average gradients; only means that have arrived advance the true weights. What the user's tensors hold is a
/// prediction of where those will be when the messages in flight have landed, from a gradient that the predictor
/// estimates for each. A guess is never committed: this project's correction of the committed form. With the predictor
/// `local_gradient` it is OD-SGD (Xu et al., ACM TACO 2020) with a momentum-consistent local step. The true weights
/// are bitwise equal on all ranks at every step.
template <class Predictor, class Rule>
struct lookahead_averaging {
  Predictor predictor;
  Rule rule;

  template <class T>
  constexpr T message(T /*weight*/, T gradient) const {
    return gradient;
  }
  template <class T>
  constexpr void absorb(T& weight, const landed<T>& m, const auto& with) const {
    with.rule(weight, m.mean);
  }
  template <class T>
  constexpr void look_ahead(T& weight, const landed<T>& m, const auto& with) const {
    with.rule(weight, with.predict(m));
  }
};

template <class Predictor, class Rule>
lookahead_averaging(Predictor, Rule) -> lookahead_averaging<Predictor, Rule>;

}  // namespace syncopate
