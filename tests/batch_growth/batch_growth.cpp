#include <array>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <syncopate/batch_growth/batch_growth.hpp>
#include <syncopate/batch_growth/gradient_noise_scale.hpp>
#include <syncopate/batch_growth/loss_plateau.hpp>
#include <syncopate/batch_growth/milestones.hpp>
#include <vector>

#include "trace.hpp"

using namespace syncopate;
using Catch::Matchers::StartsWith;

namespace {

static_assert(GrowthTrigger<milestones> && GrowthTrigger<loss_plateau> && GrowthTrigger<gradient_noise_scale>);

/// Steps at which the batch grew on a trace.
template <class Trigger>
std::vector<std::int64_t> growths(batch_growth<Trigger> growth, const std::vector<training_signal>& trace) {
  std::vector<std::int64_t> steps;
  for (const training_signal& signal : trace)
    if (growth.observe(signal)) steps.push_back(signal.step);
  return steps;
}

training_signal at_step(std::int64_t step, double loss = 0) {
  return {.step = step, .samples = 8, .ranks = 2, .loss = loss};
}

}  // namespace

TEST_CASE("Milestones grow the batch once each, and the learning rate follows", "[batch_growth]") {
  batch_growth growth{10, milestones{{3, 5, 6}}, {.factor = 2, .largest_batch = 60}};
  std::vector<std::size_t> batches;
  for (std::int64_t step = 0; step < 8; ++step) {
    growth.observe(at_step(step));
    growth.observe(at_step(step));  // shown again, it does not count again
    batches.push_back(growth.batch());
  }
  CHECK(batches == std::vector<std::size_t>{10, 10, 10, 20, 20, 40, 60, 60});
  CHECK(growth.rate_factor() == 6);
  CHECK(growth.at_largest());

  batch_growth slowly{10, milestones{{3}}, {.scaling = rate_scaling::square_root, .ramp_steps = 4}};
  std::vector<double> factors;
  for (std::int64_t step = 2; step < 9; ++step) {
    slowly.observe(at_step(step));
    factors.push_back(slowly.rate_factor());
  }
  const double more = std::sqrt(2.) - 1;
  const std::vector<double> expected{1, 1, 1 + more / 4, 1 + more / 2, 1 + 3 * more / 4, std::sqrt(2.), std::sqrt(2.)};
  for (std::size_t i = 0; i < expected.size(); ++i) CHECK(factors[i] == Approx(expected[i]));

  batch_growth capped{10, milestones{{1}}, {.factor = 4, .largest_rate_factor = 1.5}};
  capped.observe(at_step(1));
  CHECK(capped.rate_factor() == 1.5);
  batch_growth fixed_rate{10, milestones{{1}}, {.scaling = rate_scaling::none}};
  fixed_rate.observe(at_step(1));
  CHECK(fixed_rate.batch() == 20);
  CHECK(fixed_rate.rate_factor() == 1);
  batch_growth little{1, milestones{{1}}, {.factor = 1.2}};
  little.observe(at_step(1));
  CHECK(little.batch() == 2);
}

TEST_CASE("A loss that falls no more is a plateau", "[batch_growth]") {
  std::vector<training_signal> trace;
  for (int step = 0; step < 100; ++step) trace.push_back(at_step(step, step < 40 ? 10 - 0.2 * step : 2));
  // Windows of 10 fall by 2 until step 39; that from 40 on is still below the one before, the next one is not.
  CHECK(growths(batch_growth{1, loss_plateau{.window = 10, .least_improvement = 0.05}}, trace) ==
        std::vector<std::int64_t>{59, 79, 99});
}

TEST_CASE("The noise scale is that of the distribution that gradients come from", "[batch_growth]") {
  // Expectations of what ranks of 16 and 48 samples see: |G|² = 2, tr Σ = 300.
  const double square = 2, variance = 300;
  const training_signal signal{.step = 0,
                               .samples = 64,
                               .ranks = 2,
                               .loss = 0,
                               .square_of_mean = square + variance / 64,
                               .mean_of_squares = square + (16. / 64 * variance / 16 + 48. / 64 * variance / 48)};
  const gradient_noise_scale trigger{.ratio = 2, .decay = 0.9, .least_steps = 1};
  std::array<double, 3> state{};
  CHECK(trigger.grows(signal, state));  // 150 samples, of 64
  CHECK(trigger.value(state) == Approx(150));
  const gradient_noise_scale patient{.ratio = 3, .decay = 0.9, .least_steps = 1};
  std::array<double, 3> other{};
  for (int step = 0; step < 50; ++step) CHECK_FALSE(patient.grows(signal, other));
  CHECK(patient.value(other) == Approx(150));

  training_signal alone = signal;
  alone.ranks = 1;
  CHECK_FALSE(trigger.grows(alone, state));
  training_signal broken = signal;
  broken.mean_of_squares = std::numeric_limits<double>::infinity();
  CHECK_FALSE(trigger.grows(broken, state));
  CHECK(trigger.value(state) == Approx(150));
}

TEST_CASE("Growth points are reproduced from the trace of a training", "[batch_growth]") {
  const auto trace = recorded_trace();
  CHECK(growths(batch_growth{16, gradient_noise_scale{}}, trace) == growths_by_noise);
  CHECK(growths(batch_growth{16, loss_plateau{.window = 40}}, trace) == growths_by_plateau);
}

TEST_CASE("A policy that is saved and restored goes on as if nothing had happened", "[batch_growth]") {
  const auto trace = recorded_trace();
  const auto check = [&](auto trigger) {
    for (std::size_t at = 0; at < trace.size(); at += 37) {
      batch_growth one{16, trigger, {.ramp_steps = 10}}, other = one;
      for (std::size_t i = 0; i < at; ++i) one.observe(trace[i]);
      other.restore(one.state());
      for (std::size_t i = at; i < trace.size(); ++i) {
        CHECK(one.observe(trace[i]) == other.observe(trace[i]));
        CHECK(one.rate_factor() == other.rate_factor());
      }
      CHECK(one.state() == other.state());
    }
  };
  check(milestones{{10, 100, 101}});
  check(loss_plateau{.window = 30});
  check(gradient_noise_scale{.least_steps = 20});
  batch_growth growth{16, loss_plateau{}};
  CHECK_THROWS_AS(growth.restore({1, 2}), checkpoint_error);
  CHECK_THROWS_AS(growth.restore({1e6, 2, 3, 1, 0, 0, 0, 0}), checkpoint_error);
}

TEST_CASE("Growth that makes no sense is refused", "[batch_growth]") {
  CHECK_THROWS_WITH((batch_growth{0, loss_plateau{}}), StartsWith("syncopate: a batch_growth's first batch"));
  CHECK_THROWS_WITH((batch_growth{1, loss_plateau{}, {.factor = 1}}),
                    "syncopate: batch_growth_options.factor must be a finite number above 1, but is 1");
  CHECK_THROWS_AS((batch_growth{10, loss_plateau{}, {.largest_batch = 9}}), configuration_error);
  CHECK_THROWS_AS((batch_growth{1, loss_plateau{}, {.largest_rate_factor = 0.5}}), configuration_error);
  CHECK_THROWS_AS((batch_growth{1, loss_plateau{}, {.ramp_steps = -1}}), configuration_error);
  CHECK_THROWS_AS((batch_growth{1, loss_plateau{.window = 0}}), configuration_error);
  CHECK_THROWS_AS((batch_growth{1, loss_plateau{.least_improvement = 2}}), configuration_error);
  CHECK_THROWS_AS((batch_growth{1, milestones{{5, 5}}}), configuration_error);
  CHECK_THROWS_AS((batch_growth{1, milestones{{-1}}}), configuration_error);
  CHECK_THROWS_AS((batch_growth{1, gradient_noise_scale{.ratio = 0}}), configuration_error);
  CHECK_THROWS_AS((batch_growth{1, gradient_noise_scale{.decay = 1}}), configuration_error);
  CHECK_THROWS_AS((batch_growth{1, gradient_noise_scale{.least_steps = 0}}), configuration_error);
  const batch_growth growth{16, loss_plateau{}, {.largest_batch = 100}};
  CHECK_NOTHROW(growth.require_samples(400, 4));
  CHECK_THROWS_WITH(growth.require_samples(399, 4),
                    "syncopate: the batch is to grow to 100 samples on each of 4 ranks, but there are only 399");
}
