#pragma once

#include <cstddef>
#include <cstdlib>
#include <new>

/// Replaces the program's `operator new`: to be included by one source of a program.

namespace support {

/// How often the calling thread has allocated.
inline thread_local std::size_t allocations = 0;

/// Whether that is counted: the thread sanitizer needs an operator new of its own.
#if defined(__SANITIZE_THREAD__)
#define SYNCOPATE_TEST_COUNTS_ALLOCATIONS 0
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define SYNCOPATE_TEST_COUNTS_ALLOCATIONS 0
#endif
#endif
#ifndef SYNCOPATE_TEST_COUNTS_ALLOCATIONS
#define SYNCOPATE_TEST_COUNTS_ALLOCATIONS 1
#endif

}  // namespace support

#if SYNCOPATE_TEST_COUNTS_ALLOCATIONS

// Not inlined, or else g++ warns of memory from new that is freed.
[[gnu::noinline]] void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  ++support::allocations;
  return std::malloc(size > 0 ? size : 1);
}
[[gnu::noinline]] void* operator new(std::size_t size) {
  if (void* memory = operator new(size, std::nothrow)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void* operator new(std::size_t size, std::align_val_t alignment) {
  ++support::allocations;
  const auto multiple = static_cast<std::size_t>(alignment);
  if (void* memory = std::aligned_alloc(multiple, (size + multiple - 1) / multiple * multiple)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, const std::nothrow_t&) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }
#endif
