#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <type_traits>

#include "../../tensor.hpp"
#include "loop.hpp"

namespace syncopate::detail {

/// Notes whether there was an infinity or a NaN among elements: adding one to the exponent carries into the sign's bit.
/// In integers, so that it is vectorised, and means the same under -ffast-math.
template <Element T>
class finiteness {
  using bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
  static constexpr bits sign = bits{1} << (8 * sizeof(T) - 1);
  static constexpr bits one = bits{1} << (std::numeric_limits<T>::digits - 1);  ///< the lowest bit of the exponent

  template <std::size_t N>
  static SYNCOPATE_ALWAYS_INLINE bits look(const T* elements) {
    bits seen = 0;
    for (std::size_t i = 0; i < N; ++i) seen |= (std::bit_cast<bits>(elements[i]) & ~sign) + one;
    return seen;
  }

 public:
  SYNCOPATE_ALWAYS_INLINE void look_at(const T* elements, std::size_t count) {
    std::size_t i = 0;
    for (; i + chunk_length <= count; i += chunk_length) seen_ |= look<chunk_length>(elements + i);
    for (; i + small_chunk_length <= count; i += small_chunk_length) seen_ |= look<small_chunk_length>(elements + i);
    for (; i < count; ++i) seen_ |= look<1>(elements + i);
  }

  bool all_finite() const { return (seen_ & sign) == 0; }

 private:
  bits seen_ = 0;
};

/// In double precision, in an order that depends on the length alone.
template <Element T>
double sum_of_squares(std::span<const T> elements) {
  constexpr std::size_t lanes = small_chunk_length;  // sums that do not wait for each other
  double partial[lanes] = {};
  std::size_t i = 0;
  for (; i + lanes <= elements.size(); i += lanes)
    for (std::size_t lane = 0; lane < lanes; ++lane) {
      const double x = elements[i + lane];
      partial[lane] += x * x;
    }
  for (std::size_t lane = 0; i < elements.size(); ++i, ++lane) {
    const double x = elements[i];
    partial[lane] += x * x;
  }
  double sum = 0;
  for (const double part : partial) sum += part;
  return sum;
}

}  // namespace syncopate::detail
