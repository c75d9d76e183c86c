#pragma once

#include <catch2/catch.hpp>
#include <cstddef>
#include <utility>
#include <vector>

#include "syncopate/averaging/gradient_averaging.hpp"
#include "syncopate/delays/fixed_delay.hpp"
#include "syncopate/predictors/no_prediction.hpp"
#include "syncopate/update_scheme.hpp"
#include "training.hpp"

namespace support {

/// Weights after each step where gradients depend on the weights, so that one bit that differs is not forgotten.
template <class T, class D, class A>
std::vector<record> trained(const rank_group& ranks, int steps, D delay, A averaging) {
  const auto data = rough_data({1, 15, 16, 17, 513}, steps, uneven(ranks.size));
  return ranks.run([&](any_communicator communicator) {
    const auto rank = static_cast<std::size_t>(communicator.rank());
    model<T> weights = model_of<T>(data, data.start);
    record noted;
    syncopate::update_scheme scheme{weights, std::move(communicator), delay, averaging};
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
template <class T, class Rule>
class synchronous {
 public:
  synchronous(const rank_group& ranks, int steps, Rule rule)
      : ranks_(ranks),
        steps_(steps),
        expected_(trained<T>(ranks, steps, syncopate::fixed_delay{0},
                             syncopate::gradient_averaging{syncopate::no_prediction{}, rule})) {}

  template <class D, class A>
  void equals(D delay, A averaging) const {
    const auto got = trained<T>(ranks_, steps_, delay, averaging);
    for (std::size_t rank = 0; rank < got.size(); ++rank) CHECK(same_bits(got[rank], expected_[rank]));
  }

 private:
  const rank_group& ranks_;
  int steps_;
  std::vector<record> expected_;
};

}  // namespace support
