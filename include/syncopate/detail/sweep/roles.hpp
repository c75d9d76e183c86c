#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <variant>

#include "../../concepts.hpp"
#include "../elements/loop.hpp"

#if defined(__clang__)
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wpass-failed"  // a formula that cannot be vectorised is no fault
#endif

/// The policies inside an averaging, found by the name of the member, and what binds them to the engine's memory.
namespace syncopate::detail {

/// Stands for a policy that an averaging does not have.
struct absent {};

#define SYNCOPATE_ROLE(name)                         \
  template <class A>                                 \
  constexpr decltype(auto) name##_of(A& averaging) { \
    if constexpr (requires { averaging.name; })      \
      return (averaging.name);                       \
    else                                             \
      return absent{};                               \
  }                                                  \
  template <class A>                                 \
  using name##_type = std::remove_cvref_t<decltype(name##_of(std::declval<A&>()))>;

SYNCOPATE_ROLE(predictor)
SYNCOPATE_ROLE(rule)
SYNCOPATE_ROLE(local_rule)
SYNCOPATE_ROLE(merge)
#undef SYNCOPATE_ROLE

/// Calls `visit(policy)` for each policy of an averaging, and for the averaging itself.
template <class A, class Visitor>
constexpr void for_each_policy(const A& averaging, Visitor visit) {
  visit(averaging);
  visit(predictor_of(averaging));
  visit(rule_of(averaging));
  visit(local_rule_of(averaging));
  visit(merge_of(averaging));
}

/// Whether an averaging, or a policy in it, wants `landed::own`; or `landed::weight` and `weight_then`.
template <class A>
inline constexpr bool any_keeps_own = keeps_own<A> || keeps_own<predictor_type<A>> || keeps_own<merge_type<A>>;
template <class A>
inline constexpr bool any_keeps_weights =
    keeps_weights<A> || keeps_weights<predictor_type<A>> || keeps_weights<merge_type<A>>;

/// Throws the policies' own `configuration_error` where they have something against their hyper-parameters.
template <class P>
constexpr void validate(const P& policy) {
  if constexpr (requires { policy.validate(); }) policy.validate();
}

/// A policy with the state of one parameter. `C` is what `prepare` returned, or the alternative of it.
template <class P, class T, class C = coefficients_of<P, T>>
struct cell {
  const P& policy;
  const C& prepared;
  std::array<T*, state_vectors<P>> state;

  /// `formula(state..., prepared)`.
  template <class Formula>
  SYNCOPATE_ALWAYS_INLINE constexpr auto operator()(Formula formula) const {
    return [&]<std::size_t... I>(std::index_sequence<I...>) SYNCOPATE_INLINE_LAMBDA {
      if constexpr (std::same_as<C, nothing>)
        return formula(*state[I]...);
      else
        return formula(*state[I]..., prepared);
    }
    (std::make_index_sequence<state_vectors<P>>{});
  }
};

/// A policy, what `prepare` returned for this update, and where its state vectors begin.
template <class P, class T>
struct placed {
  P policy;
  coefficients_of<P, T> prepared;
  std::array<T*, state_vectors<P>> state;

  /// With state vectors from a later element on.
  placed advanced_by(std::size_t offset) const {
    placed result = *this;
    for (T*& vector : result.state) vector += offset;
    return result;
  }

  /// Bound to one element.
  SYNCOPATE_ALWAYS_INLINE constexpr cell<P, T> at(std::size_t i) const { return at(i, prepared); }
  template <class C>
  SYNCOPATE_ALWAYS_INLINE constexpr cell<P, T, C> at(std::size_t i, const C& alternative) const {
    return [&]<std::size_t... I>(std::index_sequence<I...>) SYNCOPATE_INLINE_LAMBDA {
      return cell<P, T, C>{policy, alternative, {state[I] + i...}};
    }
    (std::make_index_sequence<state_vectors<P>>{});
  }
};

/// All policies of an averaging, placed.
template <class A, class T>
struct placed_policies {
  placed<predictor_type<A>, T> predictor;
  placed<rule_type<A>, T> rule;
  placed<local_rule_type<A>, T> local_rule;
  placed<merge_type<A>, T> merge;

  placed_policies advanced_by(std::size_t offset) const {
    return {predictor.advanced_by(offset), rule.advanced_by(offset), local_rule.advanced_by(offset),
            merge.advanced_by(offset)};
  }
};

/// Calls `run(prepared)`, for a variant with the alternative that is in it.
template <class C, class Run>
constexpr void with_alternative(const C& prepared, Run run) {
  run(prepared);
}
template <class... C, class Run>
constexpr void with_alternative(const std::variant<C...>& prepared, Run run) {
  std::visit(run, prepared);
}

/// Of what was prepared for another update, the alternative `C`.
template <class C, class Prepared>
constexpr const C& alternative_of(const Prepared& prepared) {
  if constexpr (std::same_as<C, Prepared>)
    return prepared;
  else
    return std::get<C>(prepared);
}

/// What an averaging's formulas see as `with`: its policies, bound to the state of one parameter. `RuleC` and `LocalC`
/// are what was prepared for the rules.
template <class A, class T, bool Fresh, class RuleC, class LocalC>
struct bound {
  cell<predictor_type<A>, T> predictor;
  cell<rule_type<A>, T, RuleC> rules;
  cell<local_rule_type<A>, T, LocalC> local_rules;
  cell<merge_type<A>, T> merges;

  /// A fresh mean needs no prediction, but the predictor sees it, for its history.
  SYNCOPATE_ALWAYS_INLINE constexpr T predict(const landed<T>& m) const {
    static_assert(!std::same_as<predictor_type<A>, absent>,
                  "syncopate: an averaging that calls with.predict needs a member named predictor");
    const T predicted = predictor([&](auto&... state) { return predictor.policy.predict(m, state...); });
    if constexpr (Fresh)
      return m.mean;
    else
      return predicted;
  }
  SYNCOPATE_ALWAYS_INLINE constexpr void rule(T& weight, T gradient) const {
    static_assert(!std::same_as<rule_type<A>, absent>,
                  "syncopate: an averaging that calls with.rule needs a member named rule");
    rules([&](auto&... state) { rules.policy.apply(weight, gradient, state...); });
  }
  SYNCOPATE_ALWAYS_INLINE constexpr void local_rule(T& weight, T gradient) const {
    static_assert(!std::same_as<local_rule_type<A>, absent>,
                  "syncopate: an averaging that calls with.local_rule needs a member named local_rule");
    local_rules([&](auto&... state) { local_rules.policy.apply(weight, gradient, state...); });
  }
  SYNCOPATE_ALWAYS_INLINE constexpr void merge(T& weight, const landed<T>& m) const {
    static_assert(!std::same_as<merge_type<A>, absent>,
                  "syncopate: an averaging that calls with.merge needs a member named merge");
    weight = merges([&](auto&... state) { return merges.policy.merge(weight, m, state...); });
  }
};

/// Runs a loop over the policies' formulas: `run(with_at)`, where `with_at(i)` binds them to element i.
template <bool Fresh, class A, class T, class Run>
constexpr void with_bound(const placed_policies<A, T>& policies, Run run) {
  with_alternative(policies.rule.prepared, [&](const auto& rule_prepared) {
    with_alternative(policies.local_rule.prepared, [&](const auto& local_prepared) {
      const placed_policies<A, T> here = policies;
      const auto rule = rule_prepared;
      const auto local = local_prepared;
      run([&](std::size_t i) SYNCOPATE_INLINE_LAMBDA {
        return bound<A, T, Fresh, std::remove_const_t<decltype(rule)>, std::remove_const_t<decltype(local)>>{
            here.predictor.at(i), here.rule.at(i, rule), here.local_rule.at(i, local), here.merge.at(i)};
      });
    });
  });
}

}  // namespace syncopate::detail

#if defined(__clang__)
#pragma clang diagnostic pop
#endif
