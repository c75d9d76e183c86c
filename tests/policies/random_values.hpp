#pragma once

#include <cstddef>
#include <random>
#include <vector>

/// The same reproducible numbers in [-1, 1] on every platform: `std::uniform_real_distribution` is not.
template <class T>
class random_values {
 public:
  explicit random_values(unsigned seed) : engine_(seed) {}

  T operator()() { return T(static_cast<double>(engine_()) / (static_cast<double>(std::mt19937::max()) / 2) - 1); }

  std::vector<T> operator()(std::size_t count) {
    std::vector<T> values(count);
    for (T& value : values) value = (*this)();
    return values;
  }

 private:
  std::mt19937 engine_;
};
