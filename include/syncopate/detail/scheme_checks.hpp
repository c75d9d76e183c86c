#pragma once

#include <concepts>
#include <tuple>
#include <type_traits>
#include <utility>

#include "../concepts.hpp"
#include "../tensor.hpp"
#include "sweep/roles.hpp"

/// What a compiler says of arguments that make no scheme: each is a sentence, and comes first.
namespace syncopate::detail {

// A text that a compiler quotes has to be a literal.
#define SYNCOPATE_CHECK_ROLE(role, concept, description) \
  if constexpr (requires(A a) { a.role; })               \
  static_assert(concept<role##_type<A>, T>,              \
                "syncopate: the averaging's " #role " must be " description "; see syncopate/concepts.hpp")

template <class C, class A, class T>
consteval bool check_parts() {
  static_assert(Communicator<C, T>,
                "syncopate: the second argument must be a Communicator; see syncopate/concepts.hpp");
  static_assert(Averaging<A, T>, "syncopate: the fourth argument must be an Averaging; see syncopate/concepts.hpp");
  SYNCOPATE_CHECK_ROLE(predictor, GradientPredictor,
                       "a GradientPredictor: T predict(const landed<T>&, T&... state) const");
  SYNCOPATE_CHECK_ROLE(rule, UpdateRule, "an UpdateRule: void apply(T& weight, T gradient, T&... state) const");
  SYNCOPATE_CHECK_ROLE(local_rule, UpdateRule, "an UpdateRule: void apply(T& weight, T gradient, T&... state) const");
  SYNCOPATE_CHECK_ROLE(merge, Merge, "a Merge: T merge(T weight, const landed<T>&, T&... state) const");
  if constexpr (shards<A>) {
    static_assert(ShardingCommunicator<C, T>,
                  "syncopate: an averaging whose work ranks share needs a ShardingCommunicator; see "
                  "syncopate/concepts.hpp");
    static_assert(!advances<A, T> && !looks_ahead<A, T>,
                  "syncopate: an averaging whose work ranks share can neither advance nor look ahead: no rank has "
                  "all weights' state");
  }
  if constexpr (requires { requires predictor_type<A>::looks_ahead_only; })
    static_assert(looks_ahead<A, T>,
                  "syncopate: this predictor differs between ranks, so only an averaging that looks ahead can use it: "
                  "committed, it would let the ranks' weights drift apart");
  return true;
}
#undef SYNCOPATE_CHECK_ROLE

template <class Elements>
struct element_list;
template <Element T>
struct element_list<T> {
  using first = T;
  template <template <class...> class Template, class... Before>
  using in = Template<Before..., T>;
  template <class C, class A>
  static constexpr bool check = check_parts<C, A, T>();
};
template <Element T, Element... More>
struct element_list<std::tuple<T, More...>> {
  using first = T;
  template <template <class...> class Template, class... Before>
  using in = Template<Before..., T, More...>;
  template <class C, class A>
  static constexpr bool check = (check_parts<C, A, T>() && ... && check_parts<C, A, More>());
};

/// Whether delay policy and averaging go together.
template <class T, class D, class A>
consteval bool check_delay() {
  static_assert(DelayPolicy<D>, "syncopate: the third argument must be a DelayPolicy; see syncopate/concepts.hpp");
  static_assert(
      !looks_ahead<A, T> || declares_launches_every_step<D>,
      "syncopate: an averaging that looks ahead needs a delay policy that launches at every step (fixed_delay), "
      "since it looks ahead over messages in flight, not over what has not left yet");
  static_assert(!advances<A, T> || !observes_gradients<D>,
                "syncopate: this delay policy learns from gradients, so it needs an averaging that sends gradients, "
                "not weights");
  return true;
}

template <class W>
struct elements_if_model {
  using type = float;  // the constructor says what is wrong
};
template <Model W>
struct elements_if_model<W> {
  using type = elements_of<W>;
};

/// Whether a model has elements of no other types than `Elements`.
template <class X, class Elements>
consteval bool fits() {
  if constexpr (!Model<X>)
    return false;
  else if constexpr (std::same_as<Elements, std::tuple<float, double>>)
    return true;
  else
    return !model_has<X, std::conditional_t<std::same_as<Elements, float>, double, float>>();
}

#define SYNCOPATE_CHECK_MODEL(X, name, types)                                                                   \
  static_assert(Model<X>,                                                                                       \
                "syncopate: " name                                                                              \
                " must be a tensor (a contiguous range of float or double, or a type with tensor_traits), a "   \
                "range of tensors or a tuple of tensors; a strided view or an unevaluated expression is none: " \
                "assign it to a container first");                                                              \
  static_assert(fits<X, Elements>(), "syncopate: " name " must have the element types " types)

template <class W, class Elements>
consteval void check_weights() {
  SYNCOPATE_CHECK_MODEL(W, "weights", "that the scheme was made for");
}
template <class G, class Elements>
consteval void check_gradients() {
  SYNCOPATE_CHECK_MODEL(G, "gradients", "of the weights");
}
template <class G, class Elements>
consteval void check_gradient_of_layer() {
  SYNCOPATE_CHECK_MODEL(G, "a layer's gradient", "of the weights");
}
template <class X, class E, class Elements>
consteval void check_factors() {
  SYNCOPATE_CHECK_MODEL(X, "activations", "of the weights");
  SYNCOPATE_CHECK_MODEL(E, "errors", "of the weights");
}
#undef SYNCOPATE_CHECK_MODEL

}  // namespace syncopate::detail
