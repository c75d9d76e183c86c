// Laws 3, 5 and 9: what is absorbed, and what ranks have in common.
#include <catch2/catch.hpp>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <thread>
#include <utility>
#include <vector>

#include "../support/reference.hpp"
#include "../support/training.hpp"
#include "syncopate/delays/periodic_delay.hpp"
#include "syncopate/predictors/blended_gradient.hpp"
#include "syncopate/predictors/exponential_smoothing.hpp"
#include "syncopate/predictors/local_gradient.hpp"
#include "syncopate/predictors/no_prediction.hpp"
#include "syncopate/rules/sgd.hpp"

namespace {

using namespace support;
using namespace syncopate;

constexpr int steps = 9;
constexpr sgd rough_rule{.learning_rate = 0.1, .momentum = 0.9, .weight_decay = 1e-2};

// Law 3: W ← W − η mean(g of the step before), and nothing at step 0.
TEMPLATE_TEST_CASE("Without prediction the pseudo-synchronous scheme is Pipe-SGD", "[laws]", float, double) {
  for (const rank_group& ranks : every_communicator()) {
    INFO(ranks.name);
    const auto data = exact_data(awkward_sizes, steps, even(ranks.size));
    const auto got = trajectories<TestType>(
        ranks, data, compiled::pseudo_synchronous_sgd<model<TestType>>(sgd{.learning_rate = 0.125}, no_prediction{}));
    reference::vector expected, w(data.start.begin(), data.start.end());
    for (int step = 0; step <= steps; ++step) {
      for (std::size_t i = 0; step > 0 && i < w.size(); ++i)
        for (const auto& of_rank : data.gradients)
          w[i] -= 0.125L * of_rank[static_cast<std::size_t>(step - 1)][i] / ranks.size;
      expected.insert(expected.end(), w.begin(), w.end());
    }
    for (const record& one : got) {
      CHECK(distance(one, expected) == 0);
      CHECK(record(one.begin(), one.begin() + static_cast<std::ptrdiff_t>(w.size())) == data.start);
    }
  }
}

TEMPLATE_TEST_CASE("After finish as many means were absorbed as launched", "[laws]", float, double) {
  using W = model<TestType>;
  for (const rank_group& ranks : every_communicator()) {
    const auto data = rough_data({5, 0, 700}, steps, even(ranks.size));
    const auto counts = [&](const maker<W>& make) {
      return ranks.run([&](any_communicator communicator) {
        const auto rank = static_cast<std::size_t>(communicator.rank());
        W weights = model_of<TestType>(data, data.start);
        auto scheme = make(weights, std::move(communicator));
        record noted;
        const auto note = [&] {
          noted.push_back(static_cast<double>(scheme.statistics().launched));
          noted.push_back(static_cast<double>(scheme.statistics().absorbed));
        };
        for (const auto& gradient : data.gradients[rank]) scheme.step(weights, model_of<TestType>(data, gradient));
        note();
        scheme.finish(weights);
        note();
        return noted;
      });
    };
    INFO(ranks.name);
    for (const int delay : {0, 1, 3}) {
      const double before = steps - delay;
      for (const record& one : counts(compiled::pseudo_synchronous_sgd<W>(rough_rule, no_prediction{}, delay)))
        CHECK(one == record{steps, before, steps, steps});
      for (const record& one : counts(compiled::lookahead_sgd<W>(rough_rule, local_gradient{}, delay)))
        CHECK(one == record{steps, before, steps, steps});
    }
    for (const record& one : counts(compiled::dasgd<W>(rough_rule, periodic_delay{.period = 3, .delay = 2})))
      CHECK(one == record{3, 2, 3, 3});
    // Longer delays than steps: everything lands in finish.
    for (const record& one : counts(compiled::pseudo_synchronous_sgd<W>(rough_rule, no_prediction{}, steps + 4)))
      CHECK(one == record{steps, 0, steps, steps});
  }
}

// Law 5. The local step starts from the same weights and velocity on all ranks.
TEMPLATE_TEST_CASE("OD-SGD on one rank is plain SGD", "[laws]", float, double) {
  using W = model<TestType>;
  const rank_group& alone = every_communicator().front();
  if (alone.size > 1) return;
  const auto data = rough_data(awkward_sizes, steps, even(1));
  for (const double momentum : {0.0, 0.9}) {
    const sgd rule{.learning_rate = 0.1, .momentum = momentum};
    const auto trained = [&](const maker<W>& make) { return trajectories<TestType>(alone, data, make)[0]; };
    const record plain = trained(compiled::synchronous_sgd<W>(rule));
    for (const int warm_up_steps : {0, 3}) CHECK(same_bits(trained(compiled::od_sgd<W>(rule, warm_up_steps)), plain));
    if (momentum == 0) CHECK(same_bits(trained(compiled::od_sgd<W>(rule, sgd{.learning_rate = 0.1}, 0)), plain));
  }
}

/// User's weights and consensus after each step, where ranks take turns in being late.
template <class T>
std::pair<std::vector<record>, std::vector<record>> with_consensus(const rank_group& ranks, const training_data& data,
                                                                   const maker<model<T>>& make) {
  const auto both = ranks.run([&](any_communicator communicator) {
    const auto rank = static_cast<std::uint64_t>(communicator.rank());
    auto weights = model_of<T>(data, data.start), out = weights;
    auto scheme = make(weights, std::move(communicator));
    record noted, agreed;
    for (std::size_t step = 0; step < data.gradients[rank].size(); ++step) {
      std::this_thread::sleep_for(std::chrono::microseconds(scrambled(rank, step, 99) % 300));
      scheme.step(weights, model_of<T>(data, data.gradients[rank][step]));
      append(noted, weights);
      scheme.consensus(weights, out);
      append(agreed, out);
    }
    scheme.finish(weights);
    append(noted, weights);
    append(agreed, weights);
    noted.insert(noted.end(), agreed.begin(), agreed.end());
    return noted;
  });
  std::pair<std::vector<record>, std::vector<record>> result;
  for (const record& one : both) {
    const auto half = one.begin() + static_cast<std::ptrdiff_t>(one.size() / 2);
    result.first.emplace_back(one.begin(), half);
    result.second.emplace_back(half, one.end());
  }
  return result;
}

// Law 5: mean of w_i = next W. The ranks' local steps round 4 times each, below 4 · ε/2 (weights and velocities stay
// below 4: gradients below 1, learning rate 0.1, 9 steps; velocity below 9), and so does the step with the mean.
TEMPLATE_TEST_CASE("The mean of OD-SGD's ranks is the next W", "[laws]", float, double) {
  const sgd rule{.learning_rate = 0.1, .momentum = 0.9};
  for (const rank_group& ranks : every_communicator()) {
    INFO(ranks.name);
    const auto data = rough_data(awkward_sizes, steps, even(ranks.size));
    const auto [weights, true_weights] =
        with_consensus<TestType>(ranks, data, compiled::od_sgd<model<TestType>>(rule, 0));
    const std::size_t elements = data.start.size();
    reference::vector mean(elements * steps);
    for (const record& one : weights)
      for (std::size_t i = 0; i < mean.size(); ++i) mean[i] += one[i] / static_cast<reference::real>(ranks.size);
    const auto from = true_weights[0].begin() + static_cast<std::ptrdiff_t>(elements);
    CHECK(distance(mean, record(from, from + static_cast<std::ptrdiff_t>(elements * steps))) <=
          16 * std::numeric_limits<TestType>::epsilon());
  }
}

// Law 9.
TEMPLATE_TEST_CASE("Ranks that must be equal are equal bitwise at every step", "[laws]", float, double) {
  using W = model<TestType>;
  for (const rank_group& ranks : every_communicator()) {
    INFO(ranks.name);
    const auto data = rough_data({1, 16, 513, 40}, steps, even(ranks.size));
    const auto agree = [&](bool weights_too, const maker<W>& make) {
      const auto [weights, consensus] = with_consensus<TestType>(ranks, data, make);
      for (std::size_t rank = 1; rank < weights.size(); ++rank) {
        CHECK(same_bits(consensus[rank], consensus[0]));
        CHECK(same_bits(weights[rank], weights[0]) == weights_too);  // else the ranks' own are meant to differ
      }
    };
    agree(true, compiled::synchronous_sgd<W>(rough_rule));
    agree(true, compiled::pseudo_synchronous_sgd<W>(rough_rule, exponential_smoothing{}, 2));
    agree(true, compiled::pseudo_synchronous_sgd<W>(rough_rule));
    agree(true, compiled::lookahead_sgd<W>(rough_rule, no_prediction{}));
    agree(false, compiled::lookahead_sgd<W>(rough_rule, blended_gradient{}, 3));
    agree(false, compiled::od_sgd<W>(rough_rule, 2));
    agree(false, compiled::od_sgd<W>(rough_rule, sgd{}, 2));
    agree(false, compiled::dasgd<W>(rough_rule));
    agree(false, compiled::local_sgd<W>(rough_rule));
  }
}

}  // namespace
