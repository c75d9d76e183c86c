#pragma once

#include <vector>

#include "data.hpp"
#include "make_scheme.hpp"
#include "options.hpp"
#include "result.hpp"
#include "training.hpp"

namespace fashion_mnist {

/// Trains by each chosen scheme in turn, from the same initial weights, as one rank of `communicator`. Collective.
template <class Communicator>
std::vector<result> run_schemes(const options& job, const Communicator& communicator, const data_set& training,
                                const data_set& test) {
  Communicator facts = communicator.duplicate();
  const team ranks{.rank = facts.rank(), .size = facts.size(), .sum = [&](std::span<double> numbers) {
                     facts.start_sum(numbers).wait();
                   }};
  std::vector<result> results;
  for (const auto* description : job.schemes) {
    parameters<float> weights = initial_parameters<float>(job.seed);
    const auto scheme = make_scheme(job, *description, weights, communicator);
    results.push_back(train(job, *description, ranks, *scheme, weights, training, test));
  }
  return results;
}

}  // namespace fashion_mnist
