#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <new>
#include <span>
#include <utility>

namespace syncopate::detail {

/// A fixed number of zero-initialised elements that start at a cache line. Moving it does not move the elements.
template <class T>
class buffer {
 public:
  buffer() = default;
  explicit buffer(std::size_t count)
      : elements_(count == 0 ? nullptr : static_cast<T*>(::operator new(count * sizeof(T), alignment))), count_(count) {
    std::fill_n(elements_.get(), count, T(0));
  }
  buffer(buffer&& other) noexcept : elements_(std::move(other.elements_)), count_(std::exchange(other.count_, 0)) {}
  buffer& operator=(buffer&& other) noexcept {
    elements_ = std::move(other.elements_);
    count_ = std::exchange(other.count_, 0);
    return *this;
  }

  T* data() const { return elements_.get(); }
  std::size_t size() const { return count_; }
  T& operator[](std::size_t index) const { return elements_.get()[index]; }
  std::span<T> elements() const { return {elements_.get(), count_}; }

  /// Gives the memory up for good: a transport that was abandoned may still write to it.
  void leak() && {
    (void)elements_.release();
    count_ = 0;
  }

 private:
  static constexpr std::align_val_t alignment{64};
  struct release {
    void operator()(T* elements) const { ::operator delete(elements, alignment); }
  };
  std::unique_ptr<T, release> elements_;
  std::size_t count_ = 0;
};

}  // namespace syncopate::detail
