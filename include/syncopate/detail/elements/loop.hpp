#pragma once

#include <cstddef>
#include <type_traits>

#if defined(__clang__)
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wpass-failed"  // a formula that cannot be vectorised is no fault
#endif

/// Tells the compiler that iterations of the next loop are independent: the vectors of a scheme never share memory.
#if defined(__clang__)
#define SYNCOPATE_INDEPENDENT_ITERATIONS _Pragma("clang loop vectorize(assume_safety)")
#elif defined(__GNUC__)
#define SYNCOPATE_INDEPENDENT_ITERATIONS _Pragma("GCC ivdep")
#elif defined(_MSC_VER)
#define SYNCOPATE_INDEPENDENT_ITERATIONS __pragma(loop(ivdep))
#else
#define SYNCOPATE_INDEPENDENT_ITERATIONS
#endif

#if defined(__GNUC__) || defined(__clang__)
#define SYNCOPATE_ALWAYS_INLINE inline __attribute__((always_inline))
#define SYNCOPATE_INLINE_LAMBDA __attribute__((always_inline))
#define SYNCOPATE_NEVER_INLINE __attribute__((noinline))
#else
#define SYNCOPATE_ALWAYS_INLINE inline
#define SYNCOPATE_INLINE_LAMBDA
#define SYNCOPATE_NEVER_INLINE
#endif

namespace syncopate::detail {

/// Elements in a stretch of constant length: g++ -O2 vectorises only loops whose length it knows. Also what fits the
/// first-level cache together with everything a formula touches.
inline constexpr std::size_t chunk_length = 512;
/// The same for the rest of a tensor.
inline constexpr std::size_t small_chunk_length = 16;

/// Calls `body(i)` for N values of i from `begin` on; iterations are independent. (Counted from zero, clang merges the
/// loop with the one around it, forgets the pragma, and leaves what has a square root scalar.)
template <std::size_t N, class Body>
SYNCOPATE_ALWAYS_INLINE void for_each_element_of_chunk(std::size_t begin, Body& body) {
  SYNCOPATE_INDEPENDENT_ITERATIONS
  for (std::size_t i = begin; i < begin + N; ++i) body(i);
}

/// Calls `body(i)` for i in [0, count); iterations are independent. After each chunk, while it is in the cache, it
/// calls `after(begin, length)`.
template <class Body, class After>
SYNCOPATE_ALWAYS_INLINE void for_each_element(std::size_t count, Body body, After after) {
  std::size_t i = 0;
  for (; i + chunk_length <= count; i += chunk_length) {
    for_each_element_of_chunk<chunk_length>(i, body);
    after(i, chunk_length);
  }
  const std::size_t rest = i;
  for (; i + small_chunk_length <= count; i += small_chunk_length)
    for_each_element_of_chunk<small_chunk_length>(i, body);
  for (; i < count; ++i) body(i);
  after(rest, count - rest);
}

/// The same with nothing after a chunk.
template <class Body>
SYNCOPATE_ALWAYS_INLINE void for_each_element(std::size_t count, Body body) {
  for_each_element(count, body, [](std::size_t, std::size_t) SYNCOPATE_INLINE_LAMBDA {});
}

}  // namespace syncopate::detail

#if defined(__clang__)
#pragma clang diagnostic pop
#endif
