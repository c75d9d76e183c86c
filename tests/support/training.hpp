#pragma once

#include <cmath>
#include <cstddef>
#include <cstring>
#include <limits>
#include <utility>
#include <vector>

#include "compiled_schemes.hpp"
#include "rank_group.hpp"
#include "training_data.hpp"

namespace support {

template <class T>
using model = std::vector<std::vector<T>>;
using mixed_model = std::pair<model<float>, model<double>>;

template <class T>
model<T> model_of(const training_data& data, const std::vector<double>& values) {
  model<T> result;
  std::size_t i = 0;
  for (const std::size_t size : data.sizes) {
    auto& tensor = result.emplace_back(size);
    for (T& x : tensor) x = static_cast<T>(values[i++]);
  }
  return result;
}

template <class T>
void append(record& to, const model<T>& weights) {
  for (const auto& tensor : weights) to.insert(to.end(), tensor.begin(), tensor.end());
}

/// A run's weights on each rank: after each step, and at last after `finish`.
template <class T>
std::vector<record> trajectories(const rank_group& ranks, const training_data& data, const maker<model<T>>& make) {
  return ranks.run([&](any_communicator communicator) {
    const auto rank = static_cast<std::size_t>(communicator.rank());
    model<T> weights = model_of<T>(data, data.start);
    record noted;
    auto scheme = make(weights, std::move(communicator));
    for (const auto& values : data.gradients[rank]) {
      model<T> gradients = model_of<T>(data, values);
      scheme.step(weights, gradients, data.samples[rank]);
      for (auto& tensor : gradients)  // it is the user's again
        for (T& x : tensor) x = std::numeric_limits<T>::quiet_NaN();
      append(noted, weights);
    }
    scheme.finish(weights);
    append(noted, weights);
    return noted;
  });
}

/// Bitwise, so that NaN equals itself and −0 is not 0.
inline bool same_bits(const record& a, const record& b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(double)) == 0);
}

/// max |a − b|; infinite where one is not a number or the lengths differ.
template <class A, class B>
double distance(const A& a, const B& b) {
  if (a.size() != b.size()) return std::numeric_limits<double>::infinity();
  long double result = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const long double apart = std::fabs(static_cast<long double>(a[i]) - static_cast<long double>(b[i]));
    if (!(apart <= std::numeric_limits<long double>::max())) return std::numeric_limits<double>::infinity();
    if (apart > result) result = apart;
  }
  return static_cast<double>(result);
}

}  // namespace support
