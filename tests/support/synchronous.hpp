#pragma once

#include <catch2/catch.hpp>
#include <cstddef>
#include <utility>
#include <vector>

#include "training.hpp"

namespace support {

/// Weights after each step where gradients depend on the weights, so that one bit that differs is not forgotten.
template <class T>
std::vector<record> trained(const rank_group& ranks, int steps, const maker<model<T>>& make) {
  const auto data = rough_data({1, 15, 16, 17, 513}, steps, uneven(ranks.size));
  return ranks.run([&](any_communicator communicator) {
    const auto rank = static_cast<std::size_t>(communicator.rank());
    model<T> weights = model_of<T>(data, data.start);
    record noted;
    auto scheme = make(weights, std::move(communicator));
    for (const auto& noise : data.gradients[rank]) {
      model<T> gradients = model_of<T>(data, noise);
      for (std::size_t t = 0; t < weights.size(); ++t)
        for (std::size_t i = 0; i < weights[t].size(); ++i) gradients[t][i] += weights[t][i];
      scheme.step(weights, gradients, data.samples[rank]);
      append(noted, weights);
    }
    return noted;
  });
}

/// Synchronous SGD, and the check that something else equals it bitwise.
template <class T>
class synchronous {
 public:
  template <class Rule>
  synchronous(const rank_group& ranks, int steps, Rule rule)
      : ranks_(ranks), steps_(steps), expected_(trained<T>(ranks, steps, compiled::synchronous_sgd<model<T>>(rule))) {}

  void equals(const maker<model<T>>& make) const {
    const auto got = trained<T>(ranks_, steps_, make);
    for (std::size_t rank = 0; rank < got.size(); ++rank) CHECK(same_bits(got[rank], expected_[rank]));
  }

 private:
  const rank_group& ranks_;
  int steps_;
  std::vector<record> expected_;
};

}  // namespace support
