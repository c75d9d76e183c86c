#pragma once

#include <cmath>
#include <concepts>

#include "../../tensor.hpp"

#if defined(__clang__) && defined(__SSE2__)
#include <emmintrin.h>
#elif defined(__GNUC__) && !defined(__clang__) && defined(__GLIBC__)
// g++ keeps a loop with `std::sqrt` scalar, since the call may set errno. Declared const, as glibc declares it under
// -fno-math-errno, the call is one instruction, and vectorises.
extern "C" float sqrtf(float) noexcept __attribute__((__const__));
extern "C" double sqrt(double) noexcept __attribute__((__const__));
#endif

namespace syncopate::detail {

/// The value of `std::sqrt`, in a form that compilers vectorise without -fno-math-errno.
template <Element T>
inline T square_root(T x) {
#if defined(__clang__) && defined(__SSE2__)
  // clang turns these intrinsics into its generic square root, which knows no errno.
  if constexpr (std::same_as<T, float>)
    return _mm_cvtss_f32(_mm_sqrt_ss(_mm_set_ss(x)));
  else
    return _mm_cvtsd_f64(_mm_sqrt_sd(_mm_setzero_pd(), _mm_set_sd(x)));
#elif defined(__GNUC__) && !defined(__clang__) && defined(__GLIBC__)
  if constexpr (std::same_as<T, float>)
    return ::sqrtf(x);
  else
    return ::sqrt(x);
#else
  return std::sqrt(x);
#endif
}

}  // namespace syncopate::detail
