#pragma once

#include <cstddef>
#include <span>

#include "../bodies.hpp"
#if SYNCOPATE_BODIES
#include <atomic>
#include <cstring>
#include <mutex>
#include <new>
#include <vector>
#endif

namespace syncopate::detail {

/// Zeroed memory for a buffer's elements.
///
/// Large buffers begin at different places within a page. Where vectors that one loop walks through begin at the same
/// place, as large allocations do, processors take the load from one for a reload of what was just stored to another
/// (they compare the lowest 12 bits) and wait: with six vectors that cost a third of the time.
class pages {
 public:
  pages() = default;
  explicit pages(std::size_t bytes);
  pages(pages&& other) noexcept : begin_(other.begin_), data_(other.data_) { other.begin_ = other.data_ = nullptr; }
  pages& operator=(pages other) noexcept {
    std::byte* const begin = begin_;
    begin_ = other.begin_;
    data_ = other.data_;
    other.begin_ = begin;
    return *this;
  }
  ~pages() { release(); }

  std::byte* data() const { return data_; }

  /// Gives the memory up for good. It stays reachable, so that leak checkers do not take it for an accident.
  void abandon() noexcept;

 private:
  void release() noexcept;

  std::byte* begin_ = nullptr;
  std::byte* data_ = nullptr;
};

/// A fixed number of zero-initialised elements that start at a cache line. Moving it does not move the elements.
template <class T>
class buffer {
 public:
  buffer() = default;
  explicit buffer(std::size_t count) : memory_(count * sizeof(T)), count_(count) {}
  buffer(buffer&& other) noexcept : memory_(static_cast<pages&&>(other.memory_)), count_(other.count_) {
    other.count_ = 0;
  }
  buffer& operator=(buffer&& other) noexcept {
    memory_ = static_cast<pages&&>(other.memory_);
    count_ = other.count_;
    other.count_ = 0;
    return *this;
  }

  T* data() const { return reinterpret_cast<T*>(memory_.data()); }
  std::size_t size() const { return count_; }
  T& operator[](std::size_t index) const { return data()[index]; }
  std::span<T> elements() const { return {data(), count_}; }

  /// Gives the memory up for good: a transport that was abandoned may still write to it.
  void abandon() && noexcept {
    memory_.abandon();
    count_ = 0;
  }

 private:
  pages memory_;
  std::size_t count_ = 0;
};

#if SYNCOPATE_BODIES

namespace page {
inline constexpr std::size_t size = 4096;
}

SYNCOPATE_FUNCTION pages::pages(std::size_t bytes) {
  if (bytes == 0) return;
  static std::atomic<std::size_t> made{0};
  const std::size_t offset = bytes < page::size ? 0 : 256 + made++ % 7 * 512;
  begin_ = static_cast<std::byte*>(::operator new (bytes + offset, std::align_val_t{page::size}));
  data_ = begin_ + offset;
  std::memset(data_, 0, bytes);
}

SYNCOPATE_FUNCTION void pages::release() noexcept { ::operator delete (begin_, std::align_val_t{page::size}); }

SYNCOPATE_FUNCTION void pages::abandon() noexcept {
  static std::mutex mutex;
  static auto& abandoned = *new std::vector<std::byte*>;
  try {
    const std::lock_guard lock(mutex);
    abandoned.push_back(begin_);
  } catch (...) {  // not remembered, then
  }
  begin_ = data_ = nullptr;
}

#endif

}  // namespace syncopate::detail
