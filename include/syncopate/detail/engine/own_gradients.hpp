#pragma once

#include <cmath>
#include <cstddef>
#include <span>
#include <vector>

#include "../bodies.hpp"
#include "../elements/buffer.hpp"
#include "../elements/finite.hpp"
#include "../elements/loop.hpp"
#include "../elements/slice.hpp"

namespace syncopate::detail {

/// This rank's gradients, all of them, before anything is made of them.
class own_gradients {
 public:
  /// Makes room for gradients that are scaled down.
  void allow_scaling(std::span<const tensor_ref> tensors);

  /// Whether no gradient has an infinity or a NaN in it.
  static bool all_finite(std::span<const tensor_ref> tensors);

  /// The tensors to use in a step: with gradients scaled down, if their global norm is too large.
  std::span<const tensor_ref> bounded(std::span<const tensor_ref> tensors, double largest_norm);

 private:
  std::vector<buffer<std::byte>> scaled_;
  std::vector<tensor_ref> tensors_;
};

#if SYNCOPATE_BODIES

SYNCOPATE_FUNCTION void own_gradients::allow_scaling(std::span<const tensor_ref> tensors) {
  for (const tensor_ref& tensor : tensors) scaled_.emplace_back(tensor.size * tensor.element_bytes);
  tensors_.resize(tensors.size());
}

SYNCOPATE_FUNCTION bool own_gradients::all_finite(std::span<const tensor_ref> tensors) {
  bool finite = true;
  for (const tensor_ref& tensor : tensors)
    with_element_of(tensor.element_bytes, [&]<class T>(T) {
      finiteness<T> seen;
      seen.look_at(tensor.gradient_as<T>(), tensor.size);
      finite = finite && seen.all_finite();
    });
  return finite;
}

SYNCOPATE_FUNCTION std::span<const tensor_ref> own_gradients::bounded(std::span<const tensor_ref> tensors,
                                                                      double largest_norm) {
  double sum = 0;
  for (const std::size_t bytes : {sizeof(float), sizeof(double)})  // type by type: it decides how the sum is rounded
    for (const tensor_ref& tensor : tensors)
      with_element_of(bytes, [&]<class T>(T) {
        if (tensor.element_bytes == sizeof(T)) sum += sum_of_squares(std::span(tensor.gradient_as<T>(), tensor.size));
      });
  const double norm = std::sqrt(sum);
  if (!(norm > largest_norm) || !std::isfinite(norm)) return tensors;
  for (std::size_t number = 0; number < tensors.size(); ++number) {
    tensors_[number] = tensors[number];
    tensors_[number].gradient = scaled_[number].data();
    with_element_of(tensors[number].element_bytes, [&]<class T>(T) {
      const auto factor = static_cast<T>(largest_norm / norm);
      const T* const gradient = tensors[number].gradient_as<T>();
      T* const scaled = reinterpret_cast<T*>(scaled_[number].data());
      for_each_element(tensors[number].size,
                       [=](std::size_t i) SYNCOPATE_INLINE_LAMBDA { scaled[i] = gradient[i] * factor; });
    });
  }
  return tensors_;
}

#endif

}  // namespace syncopate::detail
