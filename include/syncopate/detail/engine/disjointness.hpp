#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "../../error.hpp"
#include "../bodies.hpp"
#include "layout.hpp"
#if SYNCOPATE_BODIES
#include <algorithm>
#endif

namespace syncopate::detail {

/// Remembers where tensors are, and watches that none that is written to shares memory with another one. Costs a
/// comparison per tensor as long as they stay where they are.
class disjointness {
 public:
  /// Makes room for so many tensors.
  void start(std::size_t tensors) {
    known_.resize(2 * tensors);
    sorted_.reserve(2 * tensors);
  }

  /// Whether the tensor is another one than was noted.
  bool moved(const void* data, const tensor_facts& facts, std::size_t number, bool written) const {
    const extent& known = known_[2 * number + written];
    return known.begin != address(data) || known.size != facts.size || known.element_bytes != facts.element_bytes;
  }

  /// Notes where the weights (`written`) or the gradient of a tensor are now.
  void note(const void* data, const tensor_facts& facts, std::size_t number, bool written) {
    known_[2 * number + written] = {address(data), facts.size, facts.element_bytes, number, written};
    changed_ = true;
  }

  /// The tensor counts as moved, wherever it is next.
  void forget(std::size_t number, bool written) { known_[2 * number + written] = {}; }

  /// Throws `layout_error` where memory is shared.
  void check();

 private:
  static std::uintptr_t address(const void* data) { return reinterpret_cast<std::uintptr_t>(data); }

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

#if SYNCOPATE_BODIES

SYNCOPATE_FUNCTION void disjointness::check() {
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

#endif

}  // namespace syncopate::detail
