#pragma once

#include <concepts>
#include <span>
#include <tuple>
#include <type_traits>
#include <vector>

#include "../tensor.hpp"
#include "bucket.hpp"
#include "buffer.hpp"

namespace syncopate::detail {

/// Everything of one element type.
template <class T, class C, class A>
struct lane {
  using element = T;
  std::vector<bucket<T, C, A>> buckets;
  std::vector<std::span<T>> weights;         ///< the user's tensors in the newest call
  std::vector<std::span<const T>> readable;  ///< likewise: gradients, or weights that are only read
  std::vector<buffer<T>> clipped;            ///< gradients scaled down, where they are clipped before they are sent
  std::vector<std::span<const T>> clipped_readable;
  std::vector<buffer<T>> products;  ///< gradients of layers that are handed in as factors, but travel as gradients
  buffer<T> zeros;                  ///< stands for the gradient of an optional layer that has none in a step
};

template <class Elements, class C, class A>
struct lanes {
  using type = std::tuple<lane<Elements, C, A>>;
};
template <class... T, class C, class A>
struct lanes<std::tuple<T...>, C, A> {
  using type = std::tuple<lane<T, C, A>...>;
};

template <class W>
struct elements_if_model {
  using type = float;  // the constructor says what is wrong
};
template <Model W>
struct elements_if_model<W> {
  using type = elements_of<W>;
};

/// Whether a model has elements of no other types than `Elements`, writable where `Writable`.
template <class X, class Elements>
consteval bool fits() {
  if constexpr (!Model<X>)
    return false;
  else if constexpr (std::same_as<Elements, std::tuple<float, double>>)
    return true;
  else
    return !model_has<X, std::conditional_t<std::same_as<Elements, float>, double, float>>();
}

}  // namespace syncopate::detail
