#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <utility>
#include <variant>

#include "../tensor.hpp"
#include "declared.hpp"

namespace syncopate {

template <Element T>
struct landed;  // see concepts.hpp: this header is for what stands on that page

}  // namespace syncopate

/// What the engine calls policies' formulas with, and whether policies have formulas that can be called so.
namespace syncopate::detail {

/// What `prepare` returns where there is none.
struct nothing {};

template <class... S>
struct type_list {};

/// `type_list<T, …, T, Last...>` with `Count` times T.
template <std::size_t Count, class T, class... Last>
struct repeat : repeat<Count - 1, T, T, Last...> {};
template <class T, class... Last>
struct repeat<0, T, Last...> {
  using type = type_list<Last...>;
};

/// The state arguments of a policy's formula.
template <class P, class T>
using state_arguments = typename repeat<state_vectors<P>, T>::type;

/// Number of terms that `observe` returns; 0 without `observe`.
template <class P, class T, class State>
inline constexpr std::size_t observed_terms_with = 0;
template <class P, class T, class... S>
requires requires(const P& policy, const landed<T>& m, const S&... state) { policy.observe(m, state...); }
inline constexpr std::size_t observed_terms_with<P, T, type_list<S...>> =
    std::tuple_size_v<decltype(std::declval<const P&>().observe(std::declval<const landed<T>&>(),
                                                                std::declval<const S&>()...))>;

template <class P, class T>
inline constexpr std::size_t observed_terms = observed_terms_with<P, T, state_arguments<P, T>>;

/// What `prepare` of a policy returns; `nothing` without `prepare`.
template <class P>
constexpr auto prepare(const P& policy, std::int64_t count) {
  if constexpr (requires { policy.prepare(count); })
    return policy.prepare(count);
  else
    return nothing{};
}
template <std::size_t Terms, class P, std::size_t Scalars>
constexpr auto prepare(const P& policy, std::int64_t count, const std::array<double, Terms>& sums,
                       std::array<double, Scalars>& kept) {
  if constexpr (Terms > 0)
    return policy.prepare(count, sums, kept);
  else
    return prepare(policy, count);
}

template <class P, class T>
using coefficients_of = decltype(prepare(std::declval<const P&>(), std::int64_t{},
                                         std::declval<const std::array<double, observed_terms<P, T>>&>(),
                                         std::declval<std::array<double, scalars<P>>&>()));

/// The trailing arguments of a policy's formula: its state, then what `prepare` returned, if anything.
template <class P, class T, class C = coefficients_of<P, T>>
struct formula_arguments : repeat<state_vectors<P>, T&, const C&> {};
template <class P, class T>
struct formula_arguments<P, T, nothing> : repeat<state_vectors<P>, T&> {};

template <class P, class T, class Arguments>
inline constexpr bool predicts = false;
template <class P, class T, class... S>
inline constexpr bool predicts<P, T, type_list<S...>> = requires(const P& policy, const landed<T>& m, S... state) {
  { policy.predict(m, state...) } -> std::same_as<T>;
};

template <class P, class T, class Arguments>
inline constexpr bool applies = false;
template <class P, class T, class... S>
inline constexpr bool applies<P, T, type_list<S...>> = requires(const P& policy, T& weight, T gradient, S... state) {
  policy.apply(weight, gradient, state...);
};

/// For whatever `prepare` may return.
template <class P, class T, class C = coefficients_of<P, T>>
inline constexpr bool applies_prepared = applies<P, T, typename formula_arguments<P, T, C>::type>;
template <class P, class T, class... C>
inline constexpr bool applies_prepared<P, T, std::variant<C...>> = (applies_prepared<P, T, C> && ...);

template <class P, class T, class Arguments>
inline constexpr bool merges = false;
template <class P, class T, class... S>
inline constexpr bool merges<P, T, type_list<S...>> = requires(const P& policy, T weight, const landed<T>& m,
                                                               S... state) {
  { policy.merge(weight, m, state...) } -> std::same_as<T>;
};

/// Stands for the policies of an averaging, bound to one parameter's state, where a concept is checked.
template <class T>
struct bound_archetype {
  T predict(const landed<T>&) const;
  void rule(T& weight, T gradient) const;
  void local_rule(T& weight, T gradient) const;
  void merge(T& weight, const landed<T>&) const;
};

/// Whether an averaging has the optional formulas.
template <class A, class T>
concept advances = requires(const A& a, T& weight, T gradient, const bound_archetype<T>& with) {
  a.advance(weight, gradient, with);
};

template <class A, class T>
concept looks_ahead = requires(const A& a, T& weight, const landed<T>& m, const bound_archetype<T>& with) {
  a.look_ahead(weight, m, with);
};

}  // namespace syncopate::detail
