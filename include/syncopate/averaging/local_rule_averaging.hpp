#pragma once

#include "../concepts.hpp"

namespace syncopate {

/// OD-SGD as its authors wrote it (Xu et al., ACM TACO 2020, their code): means advance the true weights W by `rule`
/// (the server's), and each rank computes its next gradient at W advanced by its own last gradient through
/// `local_rule`, which has hyper-parameters and state of its own. The delay is one step at most.
template <class Predictor, class Rule, class LocalRule>
struct local_rule_averaging {
  Predictor predictor;
  Rule rule;
  LocalRule local_rule;

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
    with.local_rule(weight, with.predict(m));
  }
};

template <class Predictor, class Rule, class LocalRule>
local_rule_averaging(Predictor, Rule, LocalRule) -> local_rule_averaging<Predictor, Rule, LocalRule>;

}  // namespace syncopate
