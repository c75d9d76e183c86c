// `weight_vectors` of a policy: state that starts as the weights.
#include <catch2/catch.hpp>
#include <cstddef>
#include <cstdint>
#include <string>
#include <syncopate/syncopate.hpp>
#include <utility>
#include <vector>

#include "../support/ranks.hpp"
#include "training.hpp"

using namespace syncopate;
using seams::model;

namespace {

/// An outer optimiser: the mean of what ranks have moved since an anchor W is its gradient.
///
///     u ← μ u + (W − mean),  W ← W − α u,  w ← W
struct outer_step {
  double rate = 1, momentum = 0;

  static constexpr std::size_t state_vectors = 2, weight_vectors = 1;

  template <class T>
  constexpr T merge(T, const landed<T>& m, T& anchor, T& velocity) const {
    velocity = (anchor - m.mean) + T(momentum) * velocity;
    anchor -= T(rate) * velocity;
    return anchor;
  }
};

/// Goes back to the anchor, and takes this rank's own weight as the next one, which no policy should.
struct own_anchor {
  static constexpr std::size_t state_vectors = 1, weight_vectors = 1;

  template <class T>
  constexpr T merge(T weight, const landed<T>&, T& anchor) const {
    return std::exchange(anchor, weight);
  }
};

/// A rule that is drawn back to where training began.
struct drawn_back {
  double learning_rate = 0.5, pull = 0.5;

  static constexpr std::size_t state_vectors = 1, weight_vectors = 1;

  template <class T>
  constexpr void apply(T& weight, T gradient, const T& start) const {
    const T drawn = gradient + T(pull) * (weight - start);
    weight -= T(learning_rate) * drawn;
  }
};

constexpr std::int64_t period = 3;
constexpr sgd rule{.learning_rate = 0.5};
constexpr periodic_delay local{.period = period, .delay = 0};

/// Other weights on other ranks: rank 0's are everyone's.
model<double> start(int rank) {
  return seams::numbers_like(model<double>{std::vector<double>(700), std::vector<double>(5)}, 7, rank);
}

template <class Scheme>
void train(Scheme& scheme, model<double>& weights, std::int64_t from, std::int64_t to, bool by_layers = false) {
  for (std::int64_t step = from; step < to; ++step)
    seams::step(scheme, weights, by_layers,
                [&](const auto& layout) { return seams::numbers_like(layout, step, scheme.rank()); });
}

/// The same as a recurrence, for one parameter: each rank's weight after so many steps.
std::vector<double> recurrence(int ranks, std::size_t parameter, std::int64_t steps, const outer_step& outer) {
  double anchor = seams::number(7, 0, parameter), velocity = 0;
  std::vector<double> w(static_cast<std::size_t>(ranks), anchor);
  for (std::int64_t step = 0; step < steps; ++step) {
    double mean = 0;
    for (int rank = 0; rank < ranks; ++rank) {
      double& own = w[static_cast<std::size_t>(rank)];
      own -= seams::number(step, rank, parameter) / 2.0;
      mean += own / ranks;
    }
    if (step % period != period - 1) continue;
    velocity = outer.momentum * velocity + (anchor - mean);
    anchor -= outer.rate * velocity;
    for (double& own : w) own = anchor;
  }
  return w;
}

}  // namespace

TEST_CASE("An outer step's anchor starts as the weights, and equals its recurrence", "[seams][anchor]") {
  // Whole numbers, and powers of two: the arithmetic is exact.
  const int ranks = GENERATE(1, 2, 4);
  const bool by_layers = GENERATE(false, true);
  const outer_step outer = GENERATE(outer_step{1, 0}, outer_step{0.5, 0}, outer_step{0.5, 0.5});
  constexpr std::int64_t steps = 4 * period + 1;
  const auto found = support::on_ranks(ranks, [&](thread_communicator communicator) {
    model<double> weights = start(communicator.rank());
    update_scheme scheme{weights, communicator, local, weight_averaging{outer, rule}};
    train(scheme, weights, 0, steps, by_layers);
    return std::pair(weights, scheme.memory().merge);
  });
  for (int rank = 0; rank < ranks; ++rank) {
    const auto& [weights, bytes] = found[static_cast<std::size_t>(rank)];
    CHECK(bytes == 2 * 705 * sizeof(double));
    for (std::size_t parameter = 0; parameter < 705; parameter += parameter < 700 ? 28 : 1) {
      INFO("rank " << rank << " of " << ranks << ", parameter " << parameter);
      const double weight = parameter < 700 ? weights[0][parameter] : weights[1][parameter - 700];
      CHECK(weight == recurrence(ranks, parameter, steps, outer)[static_cast<std::size_t>(rank)]);
    }
  }
}

TEST_CASE("An outer step of length one is local SGD", "[seams][anchor]") {
  const auto trained = [](auto merge) {
    return support::on_ranks(3, [&](thread_communicator communicator) {
      model<double> weights = start(communicator.rank());
      update_scheme scheme{weights, communicator, local, weight_averaging{merge, rule}};
      train(scheme, weights, 0, 4 * period + 1);
      scheme.finish(weights);
      return weights;
    });
  };
  // Three ranks' means are rounded, so that W − (W − mean) is that mean to rounding only.
  const auto expected = trained(replace{}), found = trained(outer_step{});
  for (std::size_t rank = 0; rank < 3; ++rank)
    for (std::size_t i = 0; i < 700; ++i) CHECK(found[rank][0][i] == Approx(expected[rank][0][i]).margin(1e-13));
}

TEST_CASE("An anchor is in the checkpoint", "[seams][anchor]") {
  const auto found = support::on_ranks(2, [](thread_communicator communicator) {
    const auto make = [&](model<double>& weights) {
      return update_scheme{weights, communicator, local, weight_averaging{outer_step{0.5, 0.5}, rule}};
    };
    model<double> weights = start(communicator.rank()), resumed(weights);
    auto scheme = make(weights);
    train(scheme, weights, 0, 2 * period + 1);  // anchor and weights differ
    const std::string checkpoint = seams::saved(scheme, weights);
    train(scheme, weights, 2 * period + 1, 4 * period + 2);
    auto another = make(resumed);
    seams::load(another, resumed, checkpoint);
    train(another, resumed, 2 * period + 1, 4 * period + 2);
    return std::pair(weights, resumed);
  });
  for (const auto& [weights, resumed] : found) CHECK((weights == resumed));
  CHECK((found[0].first != found[1].first));
}

TEST_CASE("Anchors that differ between ranks are found, and made equal again", "[seams][anchor]") {
  struct seen {
    std::string sum_at_start, sum_of_anchors, sum_after;
    model<double> own, weights;
  };
  const auto found = support::on_ranks(3, [](thread_communicator communicator) {
    model<double> weights = start(communicator.rank());
    update_scheme scheme{weights, communicator, local, weight_averaging{own_anchor{}, rule}};
    const auto sum = [&] { return support::outcome_of([&] { scheme.checksum(weights); }).text; };
    seen s;
    s.sum_at_start = sum();
    train(scheme, weights, 0, period - 1);
    s.own = weights;  // one step before it becomes the anchor
    train(scheme, weights, period - 1, period);
    s.sum_of_anchors = sum();
    scheme.resynchronise(weights);
    s.sum_after = sum();
    train(scheme, weights, period, 2 * period);
    s.weights = weights;
    return s;
  });
  for (const seen& s : found) {
    CHECK(s.sum_at_start.empty());
    CHECK_THAT(s.sum_of_anchors, Catch::Matchers::StartsWith("syncopate: ranks have drifted apart"));
    CHECK(s.sum_after.empty());
    for (std::size_t i = 0; i < 700; ++i)
      CHECK(s.weights[0][i] == found[0].own[0][i] - seams::number(period - 1, 0, i) / 2.0);
  }
}

TEST_CASE("A rule's anchor, whether ranks share the work or not", "[seams][anchor]") {
  const int ranks = GENERATE(1, 2, 4);
  const bool resynchronises = GENERATE(false, true);
  constexpr std::int64_t steps = 8;
  const auto trained = [&](auto averaging) {
    return support::on_ranks(ranks, [&](thread_communicator communicator) {
      model<double> weights = start(communicator.rank());
      update_scheme scheme{weights, communicator, fixed_delay{0}, averaging};
      train(scheme, weights, 0, steps / 2);
      if (resynchronises) scheme.resynchronise(weights);  // there is nothing to do
      train(scheme, weights, steps / 2, steps);
      scheme.checksum(weights);
      return weights;
    });
  };
  const gradient_averaging averaging{no_prediction{}, drawn_back{}};
  const auto found = trained(averaging), shared = trained(sharded_averaging{averaging});
  for (std::size_t i = 0; i < 700; ++i) {
    const double at_start = seams::number(7, 0, i);
    double weight = at_start;
    for (std::int64_t step = 0; step < steps; ++step) {
      double mean = 0;
      for (int rank = 0; rank < ranks; ++rank) mean += seams::number(step, rank, i) / double(ranks);
      weight -= (mean + (weight - at_start) / 2) / 2;
    }
    CHECK(found[0][0][i] == weight);
  }
  for (std::size_t rank = 0; rank < found.size(); ++rank) {
    CHECK((found[rank] == found[0]));
    CHECK((shared[rank] == found[0]));
  }
}
