#pragma once

#include <cstddef>
#include <span>
#include <type_traits>
#include <vector>

#include "../../tensor.hpp"
#include "../bodies.hpp"
#include "../elements/slice.hpp"
#include "disjointness.hpp"
#include "layout.hpp"

namespace syncopate::detail {

/// Where the user's tensors are in the newest call, and whether they fit the layout that was agreed.
class binding {
 public:
  /// The next tensor of the model, at construction.
  void describe(const tensor_facts& tensor) {
    facts_.push_back(tensor);
    tensors_.push_back({nullptr, nullptr, tensor.size, tensor.element_bytes});
  }
  /// All tensors have been described.
  void start() { disjoint_.start(facts_.size()); }

  std::span<const tensor_facts> facts() const { return facts_; }
  std::span<const tensor_ref> tensors() const { return tensors_; }
  /// The whole model, called `what` in errors.
  part_of_model all(const char* what) const { return {what, 0, facts_.size()}; }

  /// Notes tensor `number` of what is `wanted`: as weights, if they are `written` to, else as a gradient. Costs two
  /// comparisons where it has not moved. Throws `layout_error`.
  void bind(const void* data, const tensor_facts& found, std::size_t number, const part_of_model& wanted,
            bool written) {
    if (disjoint_.moved(data, found, number, written)) rebind(data, found, number, wanted, written);
  }
  /// Takes a gradient of the engine's own in place of the user's.
  void bind_own(const void* gradient, std::size_t number) {
    tensors_[number].gradient = gradient;
    disjoint_.forget(number, false);
  }
  /// What was bound as gradients was something else: the next ones are looked at in any case.
  void forget_gradients() {
    for (std::size_t number = 0; number < facts_.size(); ++number) disjoint_.forget(number, false);
  }
  /// Throws `layout_error` where memory is shared.
  void check() { disjoint_.check(); }

 private:
  void rebind(const void* data, const tensor_facts& found, std::size_t number, const part_of_model& wanted,
              bool written);

  std::vector<tensor_facts> facts_;
  std::vector<tensor_ref> tensors_;
  disjointness disjoint_;
};

/// Binds a model, or a part of one. Throws `layout_error`.
template <bool Written, Model X>
void bind(binding& to, X&& model, const part_of_model& wanted) {
  std::size_t number = wanted.first;
  const std::size_t end = wanted.first + wanted.tensors;
  for_each_tensor(model, [&](auto elements) {
    using E = typename decltype(elements)::element_type;
    static_assert(!Written || !std::is_const_v<E>, "syncopate: weights must not be const");
    if (number == end) wanted.refuse_more();
    to.bind(elements.data(), {elements.size(), sizeof(E)}, number++, wanted, Written);
  });
  if (number < end) wanted.refuse_fewer(number - wanted.first);
}

/// The tensor that a model is made of, to be read; the last one, if there are more.
template <Model X>
tensor_ref one_tensor(const X& model) {
  tensor_ref found;
  for_each_tensor(model, [&](auto elements) {
    found = {nullptr, elements.data(), elements.size(), sizeof(typename decltype(elements)::element_type)};
  });
  return found;
}

#if SYNCOPATE_BODIES

SYNCOPATE_FUNCTION void binding::rebind(const void* data, const tensor_facts& found, std::size_t number,
                                        const part_of_model& wanted, bool written) {
  if (found != facts_[number]) wanted.refuse_size(number, found, facts_[number]);
  if (written)
    tensors_[number].weights = const_cast<void*>(data);  // NOLINT: it was handed in as writable
  else
    tensors_[number].gradient = data;
  disjoint_.note(data, found, number, written);
}

#endif

}  // namespace syncopate::detail
