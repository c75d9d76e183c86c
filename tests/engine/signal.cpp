// Numbers that travel with each message.
#include <catch2/catch.hpp>
#include <cstddef>
#include <syncopate/communicators/thread_team.hpp>
#include <syncopate/syncopate.hpp>
#include <vector>

#include "../support/any_scheme.hpp"
#include "../support/ranks.hpp"
#include "text_of.hpp"

using namespace syncopate;
using support::on_ranks;
using support::text_of;

namespace {

using model = std::vector<std::vector<float>>;

/// What a rank of three hands in at a step: with weights 1, 2 and 5 the gradients' mean is known.
model gradients_of(int rank, int step) {
  const auto x = static_cast<float>(rank + step);
  return {{x, 2}, {0, 0, x}};
}
double samples_of(int rank) { return rank == 2 ? 5 : rank + 1; }

training_signal expected_at(int step) {
  training_signal expected{
      .step = step, .samples = 8, .ranks = 3, .loss = 0, .square_of_mean = 0, .mean_of_squares = 0};
  double mean = 0;
  for (int rank = 0; rank < 3; ++rank) {
    const double x = rank + step, share = samples_of(rank) / 8;
    mean += share * x;
    expected.loss += share * (10 * rank + step);
    expected.mean_of_squares += share * (2 * x * x + 4);
  }
  expected.square_of_mean = 2 * mean * mean + 4;
  return expected;
}

}  // namespace

TEST_CASE("A mean comes with the loss and norms of those that contributed", "[engine][signal]") {
  const bool layers = GENERATE(false, true), sharded = GENERATE(false, true);
  const int delay = GENERATE(0, 2);
  const auto all = on_ranks(3, [&](thread_communicator communicator) {
    const int rank = communicator.rank();
    model weights = gradients_of(0, 0);
    const scheme_options options{.bucket_bytes = 0, .observes_gradients = true};
    const gradient_averaging averaging{no_prediction{}, sgd{.learning_rate = 0.01}};
    using scheme_type = support::any_scheme<model>;
    scheme_type scheme =
        sharded ? scheme_type(
                      update_scheme{weights, communicator, fixed_delay{delay}, sharded_averaging{averaging}, options})
                : scheme_type(update_scheme{weights, communicator, fixed_delay{delay}, averaging, options});
    std::vector<training_signal> seen;
    for (int step = 0; step < 5; ++step) {
      const model gradients = gradients_of(rank, step);
      scheme.note_loss(10. * rank + step);
      if (layers) {
        scheme.begin_step(weights, samples_of(rank));
        for (const std::size_t layer : {1u, 0u}) {
          scheme.before_forward(layer);
          scheme.gradient_ready(layer, gradients);
        }
        scheme.end_step();
        for (const std::size_t layer : {0u, 1u}) scheme.before_forward(layer);
      } else {
        scheme.step(weights, gradients, samples_of(rank));
      }
      seen.push_back(scheme.signal());
    }
    scheme.finish(weights);
    return seen;
  });
  CAPTURE(layers, sharded, delay);
  for (const auto& seen : all)
    for (int step = 0; step < 5; ++step) {
      const training_signal& signal = seen[static_cast<std::size_t>(step)];
      CHECK(signal.step == std::max(step - delay, -1));
      CHECK(signal.step == all[0][static_cast<std::size_t>(step)].step);
      if (signal.step < 0) continue;
      const training_signal expected = expected_at(static_cast<int>(signal.step));
      CHECK(signal.samples == expected.samples);
      CHECK(signal.ranks == 3);
      CHECK(signal.loss == Approx(expected.loss));
      CHECK(signal.mean_of_squares == Approx(expected.mean_of_squares));
      CHECK(signal.square_of_mean == Approx(expected.square_of_mean));
      CHECK(signal.square_of_mean == all[0][static_cast<std::size_t>(step)].square_of_mean);  // bitwise
      CHECK(signal.mean_of_squares == all[0][static_cast<std::size_t>(step)].mean_of_squares);
    }
}

TEST_CASE("Ranks that have no samples do not count", "[engine][signal]") {
  const auto all = on_ranks(3, [](thread_communicator communicator) {
    model weights = gradients_of(0, 0);
    auto scheme = synchronous_sgd(weights, communicator, sgd{}, {.observes_gradients = true});
    scheme.note_loss(communicator.rank() == 1 ? 100 : 3);
    scheme.step(weights, gradients_of(0, 1), communicator.rank() == 1 ? 0 : 4);
    scheme.step(weights, gradients_of(0, 1), 0);  // nobody has any: there is no mean
    const training_signal seen = scheme.signal();
    scheme.finish(weights);
    return seen;
  });
  for (const training_signal& signal : all) {
    CHECK(signal.step == 0);
    CHECK(signal.ranks == 2);
    CHECK(signal.samples == 8);
    CHECK(signal.loss == 3);
    CHECK(signal.square_of_mean == Approx(signal.mean_of_squares));
  }
}

TEST_CASE("A loss of zero with a sign, or of no number at all, does no damage", "[engine][signal]") {
  const double loss = GENERATE(-0., std::numeric_limits<double>::quiet_NaN(), -std::numeric_limits<double>::infinity());
  const auto all = on_ranks(2, [&](thread_communicator communicator) {
    std::vector<float> weights(3), gradients(3);
    auto scheme = synchronous_sgd(weights, communicator, sgd{});
    scheme.note_loss(loss);
    scheme.step(weights, gradients);
    scheme.finish(weights);
    return scheme.signal().step;
  });
  CHECK(all == std::vector<std::int64_t>{0, 0});
}

TEST_CASE("Norms of gradients cannot be observed where weights are averaged", "[engine][signal]") {
  model weights = gradients_of(0, 0);
  CHECK(text_of<configuration_error>([&] {
          dasgd(weights, loopback{}, sgd{}, {}, 0.25, {.observes_gradients = true});
        }) == "syncopate: observes_gradients needs an averaging that sends gradients, not weights");
}
