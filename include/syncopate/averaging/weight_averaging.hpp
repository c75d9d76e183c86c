#pragma once

#include "../concepts.hpp"

namespace syncopate {

/// Each rank advances weights of its own by its own gradients; from time to time a snapshot of them is averaged, and
/// the mean merged into what the weights have become meanwhile: local SGD at delay 0, DaSGD (Zhou et al., arXiv
/// 2006.00441) later. The rule's state stays local.
template <class Merge, class Rule>
struct weight_averaging {
  Merge merge;
  Rule rule;

  template <class T>
  constexpr void advance(T& weight, T gradient, const auto& with) const {
    with.rule(weight, gradient);
  }
  template <class T>
  constexpr T message(T weight, T /*gradient*/) const {
    return weight;
  }
  template <class T>
  constexpr void absorb(T& weight, const landed<T>& m, const auto& with) const {
    with.merge(weight, m);
  }
};

template <class Merge, class Rule>
weight_averaging(Merge, Rule) -> weight_averaging<Merge, Rule>;

}  // namespace syncopate
