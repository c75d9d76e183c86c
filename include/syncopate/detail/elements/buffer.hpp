#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <new>
#include <span>
#include <utility>
#include <vector>

namespace syncopate::detail {

/// A fixed number of zero-initialised elements that start at a cache line. Moving it does not move the elements.
///
/// Large buffers begin at different places within a page. Where vectors that one loop walks through begin at the same
/// place, as large allocations do, processors take the load from one for a reload of what was just stored to another
/// (they compare the lowest 12 bits) and wait: with six vectors that cost a third of the time.
template <class T>
class buffer {
 public:
  buffer() = default;
  explicit buffer(std::size_t count) : count_(count) {
    if (count == 0) return;
    const std::size_t offset = count * sizeof(T) < page ? 0 : stagger();
    memory_.reset(static_cast<std::byte*>(::operator new(count * sizeof(T) + offset, alignment)));
    elements_ = reinterpret_cast<T*>(memory_.get() + offset);
    std::uninitialized_fill_n(elements_, count, T(0));
  }
  buffer(buffer&& other) noexcept
      : memory_(std::move(other.memory_)),
        elements_(std::exchange(other.elements_, nullptr)),
        count_(std::exchange(other.count_, 0)) {}
  buffer& operator=(buffer&& other) noexcept {
    memory_ = std::move(other.memory_);
    elements_ = std::exchange(other.elements_, nullptr);
    count_ = std::exchange(other.count_, 0);
    return *this;
  }

  T* data() const { return elements_; }
  std::size_t size() const { return count_; }
  T& operator[](std::size_t index) const { return elements_[index]; }
  std::span<T> elements() const { return {elements_, count_}; }

  /// Gives the memory up for good: a transport that was abandoned may still write to it. It stays reachable, so that
  /// leak checkers do not take it for an accident.
  void abandon() && noexcept {
    static std::mutex mutex;
    static auto& abandoned = *new std::vector<std::byte*>;
    std::byte* const memory = memory_.release();
    elements_ = nullptr;
    count_ = 0;
    try {
      const std::lock_guard lock(mutex);
      abandoned.push_back(memory);
    } catch (...) {  // not remembered, then
    }
  }

 private:
  static constexpr std::size_t page = 4096;
  static constexpr std::align_val_t alignment{page};

  static std::size_t stagger() {
    static std::atomic<std::size_t> made{0};
    return 256 + made++ % 7 * 512;
  }

  struct release {
    void operator()(std::byte* memory) const { ::operator delete(memory, alignment); }
  };
  std::unique_ptr<std::byte, release> memory_;
  T* elements_ = nullptr;
  std::size_t count_ = 0;
};

}  // namespace syncopate::detail
