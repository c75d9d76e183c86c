#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "../error.hpp"

namespace syncopate::detail {

/// What ranks must agree on about a tensor.
struct tensor_facts {
  std::uint64_t size;           ///< number of elements
  std::uint64_t element_bytes;  ///< 4: float, 8: double

  friend bool operator==(const tensor_facts&, const tensor_facts&) = default;

  std::string text() const {
    return std::to_string(size) + (size == 1 ? " element of " : " elements of ") +
           (element_bytes == 4 ? "float" : "double");
  }
};

/// What of a model is bound, and what is said where it does not fit the layout.
struct part_of_model {
  const char* what;
  std::size_t first, tensors;          ///< of the model
  std::optional<std::size_t> layer{};  ///< that it is, unless it is the whole model

  [[noreturn]] void refuse_more() const {
    throw layout_error("syncopate: there are more " + text() + " than the " + layout());
  }
  [[noreturn]] void refuse_fewer(std::size_t found) const {
    throw layout_error("syncopate: there are " + text() + " of only " + std::to_string(found) + " of the " + layout());
  }
  [[noreturn]] void refuse_size(std::size_t tensor, const tensor_facts& found, const tensor_facts& agreed) const {
    throw layout_error(std::string("syncopate: ") + what + " of tensor " + std::to_string(tensor) + " have " +
                       found.text() + ", but the layout that was agreed at construction has " + agreed.text());
  }

 private:
  std::string text() const { return what + (layer ? " of layer " + std::to_string(*layer) : std::string()); }
  std::string layout() const {
    return std::to_string(tensors) + (tensors == 1 ? " tensor" : " tensors") +
           " of the layout that was agreed at construction";
  }
};

/// Remembers where tensors are, and watches that none that is written to shares memory with another one. Costs a
/// comparison per tensor as long as they stay where they are.
class disjointness {
 public:
  void start(std::size_t tensors) {
    known_.resize(2 * tensors);
    sorted_.reserve(2 * tensors);
  }

  /// Whether the tensor is another one than was noted.
  template <class T>
  bool moved(std::span<T> elements, std::size_t number, bool written) const {
    const extent& known = known_[2 * number + written];
    return known.begin != address(elements) || known.size != elements.size() || known.element_bytes != sizeof(T);
  }

  /// Notes where the weights (`written`) or the gradient of a tensor are now.
  template <class T>
  void note(std::span<T> elements, std::size_t number, bool written) {
    known_[2 * number + written] = {address(elements), elements.size(), sizeof(T), number, written};
    changed_ = true;
  }

  void forget(std::size_t number, bool written) { known_[2 * number + written] = {}; }

  /// Throws `layout_error` where memory is shared.
  void check() {
    if (!changed_) return;
    sorted_.clear();
    for (const extent& e : known_)
      if (e.size > 0) sorted_.push_back(e);
    std::sort(sorted_.begin(), sorted_.end(), [](const extent& a, const extent& b) { return a.begin < b.begin; });
    const extent* furthest_written = nullptr;
    const extent* furthest = nullptr;
    for (const extent& e : sorted_) {
      const extent* const other = e.written ? furthest : furthest_written;
      if (other && e.begin < other->end())
        throw layout_error("syncopate: " + other->text() + " and " + e.text() +
                           " share memory: weights must overlap neither gradients nor each other");
      if (!furthest || furthest->end() < e.end()) furthest = &e;
      if (e.written && (!furthest_written || furthest_written->end() < e.end())) furthest_written = &e;
    }
    changed_ = false;
  }

 private:
  template <class T>
  static std::uintptr_t address(std::span<T> elements) {
    return reinterpret_cast<std::uintptr_t>(elements.data());
  }

  struct extent {
    std::uintptr_t begin = 0;
    std::size_t size = 0;           ///< number of elements
    std::size_t element_bytes = 0;  ///< 0: not noted yet
    std::size_t number = 0;
    bool written = false;

    std::uintptr_t end() const { return begin + size * element_bytes; }
    std::string text() const {
      return (written ? "weights of tensor " : "gradient of tensor ") + std::to_string(number);
    }
  };
  std::vector<extent> known_, sorted_;
  bool changed_ = true;
};

}  // namespace syncopate::detail
