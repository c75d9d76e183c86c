#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

#include "../elements/buffer.hpp"
#include "../elements/state_visitor.hpp"
#include "roles.hpp"

namespace syncopate::detail {

/// What the policies of an averaging keep for one bucket: vectors and counts of all roles.
template <class T, class A>
class policy_state {
  using P = predictor_type<A>;
  using U = rule_type<A>;
  using L = local_rule_type<A>;
  using M = merge_type<A>;

 public:
  std::int64_t updates = 0;                              ///< means that were absorbed
  std::int64_t moves = 0;                                ///< local moves
  std::int64_t predictions = 0;                          ///< times that weights were predicted
  std::vector<std::array<double, scalars<P>>> observed;  ///< what a predictor that observes keeps of each group

  /// For so many elements, and groups of observed sums.
  policy_state(std::size_t elements, std::size_t groups) {
    const auto make = [&](auto& vectors) {
      for (auto& vector : vectors) vector = buffer<T>(elements);
    };
    make(predictor_);
    make(rule_);
    make(local_rule_);
    make(merge_);
    if constexpr (observed_terms < P, T >> 0) observed.resize(groups);
  }

  /// The policies at the beginning of the bucket, for the next local move or the mean that landed last.
  placed_policies<A, T> place(const A& averaging) const {
    const std::int64_t earlier = updates > 0 ? updates - 1 : 0;
    return {place(predictor_of(averaging), predictor_, earlier),
            place(rule_of(averaging), rule_, advances<A, T> ? moves : earlier),
            place(local_rule_of(averaging), local_rule_, predictions), place(merge_of(averaging), merge_, earlier)};
  }

  /// Sets vectors that start as the weights; `write(vector)` writes these.
  template <class Write>
  void start_from_weights(Write write) {
    const auto start = [&]<class Policy>(std::type_identity<Policy>, const auto& vectors) {
      for (std::size_t v = 0; v < weight_vectors<Policy>; ++v) write(vectors[v].data());
    };
    start(std::type_identity<P>(), predictor_);
    start(std::type_identity<U>(), rule_);
    start(std::type_identity<L>(), local_rule_);
    start(std::type_identity<M>(), merge_);
  }

  /// `shared`: whether each rank keeps what belongs to elements of its own; else all ranks have the rule's state in
  /// common, unless each makes moves of its own, and vectors that start as the weights.
  void serialise(state_visitor& visitor, bool shared) {
    for (std::int64_t* const count : {&updates, &moves, &predictions}) visitor.number(*count);
    const auto visit = [&]<class Policy>(std::type_identity<Policy>, role of, bool common, const auto& vectors) {
      for (std::size_t v = 0; v < vectors.size(); ++v)
        visitor.vector(of, !shared && (common || v < weight_vectors<Policy>), vectors[v].elements());
    };
    visit(std::type_identity<P>(), role::predictor, false, predictor_);
    visit(std::type_identity<U>(), role::rule, !advances<A, T>, rule_);
    visit(std::type_identity<L>(), role::local_rule, false, local_rule_);
    visit(std::type_identity<M>(), role::merge, false, merge_);
    for (auto& group : observed) visitor.vector(role::observed_sums, false, std::span<double>(group));
  }

 private:
  template <class Policy, std::size_t N>
  static placed<Policy, T> place(const Policy& policy, const std::array<buffer<T>, N>& state, std::int64_t count) {
    std::array<T*, N> vectors{};
    for (std::size_t v = 0; v < N; ++v) vectors[v] = state[v].data();
    if constexpr (observed_terms < Policy, T >> 0)
      return {policy, {}, vectors};  // prepared group by group
    else
      return {policy, prepare(policy, count), vectors};
  }

  std::array<buffer<T>, state_vectors<P>> predictor_;
  std::array<buffer<T>, state_vectors<U>> rule_;
  std::array<buffer<T>, state_vectors<L>> local_rule_;
  std::array<buffer<T>, state_vectors<M>> merge_;
};

}  // namespace syncopate::detail
