#pragma once

#include <functional>
#include <span>

#include "any_scheme.hpp"
#include "data.hpp"
#include "options.hpp"
#include "result.hpp"

namespace fashion_mnist {

/// This rank among the others, for facts about the run: counts of right answers, losses, times.
struct team {
  int rank = 0, size = 1;
  /// Sums each number over all ranks, in place. Collective.
  std::function<void(std::span<double>)> sum;
};

/// The network that the command line asks for.
inline architecture architecture_of(const options& job) {
  return job.network == network_kind::cnn ? convolutional_network() : multi_layer_perceptron();
}

/// Trains one rank's replica by a scheme that was made for these weights. Collective. The numbers that it returns are
/// equal on all ranks.
///
/// An epoch takes its samples from `shuffled_share`. At its end the consensus weights are evaluated: each rank takes
/// its share of the test set, and the counts are summed. The learning rate follows its schedule step by step.
result train(const options& job, const scheme_description& description, const team& ranks, any_scheme& scheme,
             parameters<float>& weights, const data_set& training, const data_set& test);

}  // namespace fashion_mnist
