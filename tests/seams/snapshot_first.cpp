// `snapshot_first` of an averaging: what leaves at a step does not contain the mean that is merged at it.
#include <catch2/catch.hpp>
#include <cstddef>
#include <cstdint>
#include <syncopate/syncopate.hpp>
#include <vector>

#include "../support/ranks.hpp"
#include "training.hpp"

using namespace syncopate;
using seams::model;

namespace {

template <class Merge, class Rule>
struct snapshot_averaging : weight_averaging<Merge, Rule> {
  static constexpr bool snapshot_first = true;
};
template <class Merge, class Rule>
snapshot_averaging(weight_averaging<Merge, Rule>) -> snapshot_averaging<Merge, Rule>;

constexpr std::int64_t period = 2, delay = 2, steps = 11;
constexpr weight_averaging averaging{two_parameter_merge{.local_progress = 0.5, .disagreement = 0.25},
                                     sgd{.learning_rate = 0.5}};

/// One rank's weights at which gradients are computed, step by step, and those at the end.
std::vector<model<double>> trained(thread_communicator communicator, const auto& with, bool by_layers) {
  model<double> weights{std::vector<double>(3), std::vector<double>(600), std::vector<double>(1)};
  std::vector<model<double>> seen;
  update_scheme scheme{weights, communicator, periodic_delay{period, delay}, with, {.bucket_bytes = 100}};
  for (std::int64_t step = 0; step < steps; ++step)
    seams::step(scheme, weights, by_layers, [&](const model<double>& now) {
      seen.push_back(now);
      return seams::numbers_like(now, step, communicator.rank());
    });
  scheme.finish(weights);
  seen.push_back(weights);
  return seen;
}

/// The same of one parameter, by rank and step.
std::vector<std::vector<double>> recurrence(int ranks, std::size_t parameter, bool snapshot_first) {
  const auto size = static_cast<std::size_t>(ranks);
  std::vector<std::vector<double>> seen(size);
  std::vector<double> w(size), snapshot, next;
  const auto mean = [&](const std::vector<double>& of) {
    double sum = 0;
    for (const double x : of) sum += x;
    return sum / ranks;
  };
  const auto merge = [&] {
    if (snapshot.empty()) return;
    const double a = mean(snapshot);
    for (std::size_t rank = 0; rank < size; ++rank)
      w[rank] = a + 0.25 * (snapshot[rank] - a) + 0.5 * (w[rank] - snapshot[rank]);
  };
  for (std::int64_t step = 0; step < steps; ++step) {
    for (std::size_t rank = 0; rank < size; ++rank) {
      seen[rank].push_back(w[rank]);
      w[rank] -= seams::number(step, static_cast<int>(rank), parameter) / 2.0;
    }
    if (step % period != period - 1) continue;  // what left a period ago is due when the next one leaves
    next = w;
    merge();
    snapshot = snapshot_first ? next : w;
  }
  merge();
  for (std::size_t rank = 0; rank < size; ++rank) seen[rank].push_back(mean(w));
  return seen;
}

void compare(const auto& with, bool snapshot_first) {
  // Sums of few whole numbers times powers of two are exact.
  const int ranks = GENERATE(1, 2, 4);
  const bool by_layers = GENERATE(false, true);
  const auto found = support::on_ranks(ranks, [&](thread_communicator c) { return trained(c, with, by_layers); });
  std::size_t compared = 0, different = 0, parameter = 0;
  for (std::size_t layer = 0; layer < 3; ++layer)
    for (std::size_t i = 0; i < found[0][0][layer].size(); ++i, ++parameter) {
      const auto expected = recurrence(ranks, parameter, snapshot_first);
      for (std::size_t rank = 0; rank < found.size(); ++rank)
        for (std::size_t step = 0; step <= steps; ++step, ++compared)
          if (found[rank][step][layer][i] != expected[rank][step]) ++different;
    }
  INFO(ranks << " ranks, " << (by_layers ? "layer by layer" : "whole"));
  CHECK(compared == 604 * (steps + 1) * static_cast<std::size_t>(ranks));
  CHECK(different == 0);
}

}  // namespace

TEST_CASE("Without snapshot_first, a snapshot contains the mean that is merged at its step", "[seams][snapshot]") {
  compare(averaging, false);
}

TEST_CASE("With snapshot_first, a snapshot does not contain the mean that is merged at its step", "[seams][snapshot]") {
  compare(snapshot_averaging{averaging}, true);
}

TEST_CASE("The two differ from the first mean that meets a snapshot", "[seams][snapshot]") {
  // The mean of step 1 is merged at step 3, into a snapshot or not; the mean of that is merged at step 5.
  for (const std::size_t parameter : {0u, 1u, 2u}) {
    const auto before = recurrence(2, parameter, true), after = recurrence(2, parameter, false);
    for (std::size_t step = 0; step <= 5; ++step) CHECK(before[0][step] == after[0][step]);
    CHECK(before[0][6] != after[0][6]);
  }
}

TEST_CASE("Where nothing is merged when a message leaves, snapshot_first changes nothing", "[seams][snapshot]") {
  const auto found = support::on_ranks(3, [](thread_communicator communicator) {
    const auto trained = [&](const auto& with) {
      model<double> weights{std::vector<double>(3)};
      update_scheme scheme{weights, communicator, periodic_delay{3, 1}, with};
      for (std::int64_t step = 0; step < steps; ++step)
        scheme.step(weights, seams::numbers_like(weights, step, communicator.rank()));
      return weights;
    };
    return trained(averaging) == trained(snapshot_averaging{averaging});
  });
  for (const bool same : found) CHECK(same);
}
