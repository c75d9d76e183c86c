#pragma once

#include <cstddef>
#include <type_traits>

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
#else
#define SYNCOPATE_ALWAYS_INLINE inline
#define SYNCOPATE_INLINE_LAMBDA
#endif

namespace syncopate::detail {

/// Elements that are worked on at a time, so that what one formula leaves is still in the first-level cache when the
/// next one reads it. The length is a constant because g++ -O2 vectorises only loops whose length it knows.
inline constexpr std::size_t chunk_length = 512;
/// The same for the rest of a tensor.
inline constexpr std::size_t small_chunk_length = 16;

template <std::size_t N>
using length = std::integral_constant<std::size_t, N>;

/// Calls `body(i)` for i in [0, N); iterations are independent.
template <std::size_t N, class Body>
SYNCOPATE_ALWAYS_INLINE void for_each_element(length<N>, Body body) {
#if defined(__clang__)
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wpass-failed"  // a user's formula that cannot be vectorised is no fault
#endif
  SYNCOPATE_INDEPENDENT_ITERATIONS
  for (std::size_t i = 0; i < N; ++i) body(i);
#if defined(__clang__)
#pragma clang diagnostic pop
#endif
}

/// Covers [0, count) with pieces of constant length: calls `body(begin, length<N>{})`.
template <class Body>
SYNCOPATE_ALWAYS_INLINE void for_each_chunk(std::size_t count, Body body) {
  std::size_t begin = 0;
  for (; begin + chunk_length <= count; begin += chunk_length) body(begin, length<chunk_length>{});
  for (; begin + small_chunk_length <= count; begin += small_chunk_length) body(begin, length<small_chunk_length>{});
  for (; begin < count; ++begin) body(begin, length<1>{});
}

}  // namespace syncopate::detail
