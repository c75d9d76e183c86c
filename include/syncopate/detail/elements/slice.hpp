#pragma once

#include <cstddef>

namespace syncopate::detail {

/// Where a tensor of the user's and its gradient are in the newest call. Of what type the elements are was checked when
/// they were bound.
struct tensor_ref {
  void* weights = nullptr;
  const void* gradient = nullptr;
  std::size_t size = 0;           ///< number of elements
  std::size_t element_bytes = 0;  ///< 4: float, 8: double

  template <class T>
  T* weights_as() const {
    return static_cast<T*>(weights);
  }
  template <class T>
  const T* gradient_as() const {
    return static_cast<const T*>(gradient);
  }
};

/// A tensor's place in its bucket, or, where ranks share the work, that of a part of it in one rank's block.
struct slice {
  std::size_t tensor;           ///< its number in the model
  std::size_t size;             ///< number of elements
  std::size_t from = 0;         ///< the first of the tensor's elements
  std::size_t offset = 0;       ///< where its elements begin in a message
  std::size_t first_group = 0;  ///< where its groups of observed sums begin
};

/// Calls `visit` with a value of the element type that has so many bytes.
template <class Visitor>
decltype(auto) with_element_of(std::size_t bytes, Visitor visit) {
  return bytes == sizeof(float) ? visit(float{}) : visit(double{});
}

}  // namespace syncopate::detail
