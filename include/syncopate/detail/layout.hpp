#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
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

/// Watches that no tensor that is written to shares memory with another one. Costs a comparison of pointers per tensor
/// as long as the tensors stay where they are.
class disjointness {
 public:
  void start(std::size_t tensors) {
    known_.reserve(2 * tensors);
    sorted_.reserve(2 * tensors);
    next_ = 0;
  }

  /// Notes a tensor; all weights first, then all gradients, in order.
  template <class T>
  void note(std::span<T> elements, std::size_t number, bool written) {
    const auto* const bytes = reinterpret_cast<const std::byte*>(elements.data());
    const extent seen{bytes, bytes + elements.size_bytes(), number, written};
    if (next_ == known_.size()) {
      known_.push_back(seen);
      changed_ = true;
    } else if (known_[next_].begin != seen.begin || known_[next_].end != seen.end) {
      known_[next_] = seen;
      changed_ = true;
    }
    ++next_;
  }

  /// Throws `layout_error` where memory is shared.
  void check() {
    next_ = 0;
    if (!changed_) return;
    sorted_.clear();
    for (const extent& e : known_)
      if (e.begin != e.end) sorted_.push_back(e);
    std::ranges::sort(sorted_, std::less<>{}, &extent::begin);
    const extent* furthest_written = nullptr;
    const extent* furthest = nullptr;
    for (const extent& e : sorted_) {
      const extent* const other = e.written ? furthest : furthest_written;
      if (other && std::less<>{}(e.begin, other->end))
        throw layout_error("syncopate: " + other->text() + " and " + e.text() +
                           " share memory: weights must overlap neither gradients nor each other");
      if (!furthest || std::less<>{}(furthest->end, e.end)) furthest = &e;
      if (e.written && (!furthest_written || std::less<>{}(furthest_written->end, e.end))) furthest_written = &e;
    }
    changed_ = false;
  }

  /// Forgets what was noted since the last check, after a tensor was refused.
  void restart() { next_ = 0; }

 private:
  struct extent {
    const std::byte* begin;
    const std::byte* end;
    std::size_t number;
    bool written;

    std::string text() const {
      return (written ? "weights of tensor " : "gradient of tensor ") + std::to_string(number);
    }
  };
  std::vector<extent> known_, sorted_;
  std::size_t next_ = 0;
  bool changed_ = true;
};

}  // namespace syncopate::detail
