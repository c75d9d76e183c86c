#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <functional>
#include <random>
#include <vector>

/// What ranks sum.
namespace support {

/// Small integers, different on each rank and at each place: their sums are exact in any order.
template <class T>
std::vector<T> integers(int rank, std::size_t size) {
  std::vector<T> values(size);
  for (std::size_t i = 0; i < size; ++i) values[i] = static_cast<T>(static_cast<int>(i % 1000) * (rank + 1) - rank);
  return values;
}

template <class T>
std::vector<T> sum_of_integers(int ranks, std::size_t size) {
  std::vector<T> sum(size);
  for (int rank = 0; rank < ranks; ++rank)
    std::ranges::transform(sum, integers<T>(rank, size), sum.begin(), std::plus());
  return sum;
}

/// Numbers whose sum depends on the order of summation.
template <class T>
std::vector<T> awkward_numbers(int rank, std::size_t size) {
  std::mt19937 random(static_cast<unsigned>(rank) + 1);
  std::uniform_real_distribution<double> mantissa(-1, 1);
  std::uniform_int_distribution<int> exponent(-12, 12);
  std::vector<T> numbers(size);
  for (T& x : numbers) x = static_cast<T>(std::ldexp(mantissa(random), exponent(random)));
  return numbers;
}

/// Bitwise, so that NaN equals itself and −0 is not 0.
template <class T>
bool same_bits(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0);
}

}  // namespace support
