#include <algorithm>
#include <catch2/catch.hpp>
#include <cstddef>
#include <cstdint>
#include <syncopate/syncopate.hpp>
#include <vector>

#include "../support/random_pace.hpp"
#include "../support/ranks.hpp"
#include "../support/training.hpp"

using namespace syncopate;

namespace {

constexpr std::size_t tensors = 16;

/// A tensor per bucket, of 1 to 16 elements.
support::model<double> many_tensors() {
  support::model<double> result;
  for (std::size_t t = 0; t < tensors; ++t) result.emplace_back(t + 1);
  return result;
}

/// Multiples of 3: a third of them is exact, in whatever order means are computed.
double part_of(int rank, std::int64_t step, std::size_t t) {
  return 3 * static_cast<double>((step + static_cast<std::int64_t>(t)) % 5 - 2 + (rank - 1));
}
double mean_of(std::int64_t step, std::size_t t) { return part_of(1, step, t); }

}  // namespace

TEST_CASE("Many steps with many buckets at a random pace", "[engine][soak]") {
  constexpr std::int64_t steps = 5000;
  const auto found = support::on_ranks(3, [](thread_communicator communicator) {
    support::random_pace pace(communicator.rank());
    auto weights = many_tensors(), gradients = weights;
    auto scheme = compiled::scheme<support::model<double>>(
        warm_up{0, fixed_delay{3}}, lookahead_averaging{local_gradient{}, sgd{.learning_rate = 1}},
        scheme_options{.bucket_bytes = 1})(weights, support::any_communicator(communicator));
    std::size_t wrong = 0;
    for (std::int64_t step = 0; step < steps; ++step) {
      pace.compute();
      for (std::size_t t = 0; t < tensors; ++t) gradients[t].assign(t + 1, part_of(communicator.rank(), step, t));
      scheme.step(weights, gradients);
      if (step % 7 == 0) scheme.poll();
      // Nothing of what this rank is ahead of the mean is ever committed: three local parts at most.
      for (std::size_t t = 0; t < tensors; ++t) {
        double expected = 0;
        for (std::int64_t k = step - step % 5; k <= step; ++k)  // five means add up to 0
          expected -= mean_of(k, t);
        expected -= static_cast<double>(std::min<std::int64_t>(step + 1, 3)) * 3 * (communicator.rank() - 1);
        wrong += weights[t].front() != expected || weights[t].back() != expected;
      }
    }
    scheme.finish(weights);
    double sum = 0;
    for (const auto& tensor : weights)
      for (const double weight : tensor) sum += weight * weight;
    return std::vector<double>{static_cast<double>(wrong), sum,
                               static_cast<double>(scheme.statistics().absorbed - steps)};
  });
  static_assert(steps % 5 == 0);
  for (const auto& rank : found) CHECK(rank == std::vector<double>{0, 0, 0});
}

TEST_CASE("Many periods with many buckets at a random pace", "[engine][soak]") {
  constexpr std::int64_t steps = 5000;
  const auto found = support::on_ranks(3, [](thread_communicator communicator) {
    support::random_pace pace(communicator.rank() + 3);
    auto weights = many_tensors(), gradients = weights;
    auto scheme = compiled::scheme<support::model<double>>(
        periodic_delay{.period = 2, .delay = 2}, weight_averaging{two_parameter_merge{}, sgd{.learning_rate = 1}},
        scheme_options{.bucket_bytes = 1})(weights, support::any_communicator(communicator));
    for (std::int64_t step = 0; step < steps; ++step) {
      pace.compute();
      for (std::size_t t = 0; t < tensors; ++t) gradients[t].assign(t + 1, part_of(communicator.rank(), step, t));
      scheme.step(weights, gradients);
    }
    scheme.finish(weights);
    return weights;
  });
  // The delta merge keeps all local progress, so the mean of ranks is the sum of all means, which is 0.
  for (const auto& rank : found) CHECK(rank == many_tensors());
}
