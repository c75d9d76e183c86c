#pragma once

#include <concepts>
#include <cstddef>
#include <span>
#include <tuple>
#include <type_traits>
#include <utility>

namespace syncopate {

/// The element types that weights and gradients are made of.
template <class T>
concept Element = std::same_as<T, float> || std::same_as<T, double>;

/// The one customisation point for tensor types. Specialise it for a type that is no contiguous range:
///
///     template <>
///     struct syncopate::tensor_traits<my::matrix> {
///       static std::span<float> elements(my::matrix& m) { return {m.data(), m.size()}; }
///       static std::span<const float> elements(const my::matrix& m) { return {m.data(), m.size()}; }
///     };
///
/// `elements` must name all elements of the tensor, contiguous in memory, always in the same order. The primary
/// template covers contiguous ranges: `std::vector`, `std::array`, `std::span`, C arrays, row-major xtensor containers.
template <class X>
struct tensor_traits {
  template <class Y>
  requires Element<typename decltype(std::span(std::declval<Y&>()))::value_type>
  static constexpr auto elements(Y& tensor) {
    return std::span<typename decltype(std::span(tensor))::element_type>(tensor);
  }
};

/// The elements of a tensor as a span; the form in which the engine sees every tensor.
template <class X>
requires requires(X& tensor) { tensor_traits<std::remove_cv_t<X>>::elements(tensor); }
constexpr auto elements(X& tensor) { return tensor_traits<std::remove_cv_t<X>>::elements(tensor); }

/// A tensor: `elements(x)` is a contiguous span of float or double.
template <class X>
concept Tensor = requires(std::remove_reference_t<X>& tensor) {
  {elements(tensor)};
  requires Element<typename decltype(elements(tensor))::value_type>;
};

namespace detail {

namespace visited {

using std::begin, std::end;

/// What a range-based `for` can visit. Spelled out, since <ranges> takes a compiler longer than all else here.
template <class X>
concept range_of_parts = requires(X& range, decltype(begin(range)) at) {
  { at != end(range) } -> std::convertible_to<bool>;
  *at;
  ++at;
};

template <range_of_parts X>
using part_of = decltype(*begin(std::declval<X&>()));

}  // namespace visited

using visited::part_of, visited::range_of_parts;

template <class X>
concept tuple_like = requires {
  std::tuple_size<std::remove_cvref_t<X>>::value;
};

template <class X>
consteval bool is_model() {
  if constexpr (Tensor<X>) {
    return true;
  } else if constexpr (range_of_parts<X>) {
    if constexpr (std::same_as<std::remove_cvref_t<part_of<X>>, std::remove_cvref_t<X>>)
      return false;
    else
      return is_model<part_of<X>>();
  } else if constexpr (tuple_like<X>) {
    return []<std::size_t... I>(std::index_sequence<I...>) {
      return (is_model<std::tuple_element_t<I, std::remove_cvref_t<X>>>() && ...);
    }
    (std::make_index_sequence<std::tuple_size_v<std::remove_cvref_t<X>>>{});
  } else {
    return false;
  }
}

}  // namespace detail

/// What a scheme trains: a tensor, a range of models, or a tuple of models (`std::tie(w1, b1)`, a vector of layers
/// that are tuples of tensors). Its tensors are numbered in the order in which they are visited.
template <class X>
concept Model = detail::is_model<X>();

/// Calls `visit(span)` for each tensor of a model, in order.
template <Model X, class Visitor>
constexpr void for_each_tensor(X&& model, Visitor&& visit) {
  if constexpr (Tensor<X>) {
    visit(elements(model));
  } else if constexpr (detail::range_of_parts<X>) {
    for (auto&& part : model) for_each_tensor(part, visit);
  } else {
    std::apply([&](auto&&... parts) { (for_each_tensor(parts, visit), ...); }, model);
  }
}

/// Calls `visit(layer)` for each layer of a model, in order. A layer is an element of its outermost range or tuple; a
/// tensor is one layer.
template <Model X, class Visitor>
constexpr void for_each_layer(X&& model, Visitor&& visit) {
  if constexpr (Tensor<X>) {
    visit(model);
  } else if constexpr (detail::range_of_parts<X>) {
    for (auto&& layer : model) visit(layer);
  } else {
    std::apply([&](auto&&... layers) { (visit(layers), ...); }, model);
  }
}

namespace detail {

/// Whether some tensor of the model has elements of type T.
template <class X, class T>
consteval bool model_has() {
  if constexpr (Tensor<X>) {
    return std::same_as<typename decltype(elements(std::declval<std::remove_reference_t<X>&>()))::value_type, T>;
  } else if constexpr (range_of_parts<X>) {
    return model_has<part_of<X>, T>();
  } else {
    return []<std::size_t... I>(std::index_sequence<I...>) {
      return (model_has<std::tuple_element_t<I, std::remove_cvref_t<X>>, T>() || ...);
    }
    (std::make_index_sequence<std::tuple_size_v<std::remove_cvref_t<X>>>{});
  }
}

}  // namespace detail

/// The element types of a model: `float`, `double`, or `std::tuple<float, double>` where both occur.
template <Model X>
using elements_of =
    std::conditional_t<detail::model_has<X, float>() && detail::model_has<X, double>(), std::tuple<float, double>,
                       std::conditional_t<detail::model_has<X, double>(), double, float>>;

}  // namespace syncopate
