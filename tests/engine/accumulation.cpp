// Steps without a message: what they contribute travels with the next one.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <syncopate/communicators/thread_team.hpp>
#include <syncopate/syncopate.hpp>
#include <tuple>
#include <utility>
#include <vector>

#include "../support/any_scheme.hpp"
#include "../support/ranks.hpp"
#include "text_of.hpp"

using namespace syncopate;
using support::on_ranks;
using support::text_of;

namespace {

using model = std::vector<std::vector<float>>;
using scheme_type = support::any_scheme<model>;

enum class use { whole, by_layer, sharded };

/// Whole numbers, so that sums are exact. With samples of 1, 2 and 5 three ranks have 8.
constexpr int ranks = 3;
double samples_of(int rank) { return rank == 2 ? 5 : rank + 1; }
model gradients_of(int rank, int step) {
  const auto x = static_cast<float>((7 * rank + 3 * step) % 11 - 5);
  return {{x, 1, -x}, {}, {2 * x, x + static_cast<float>(step)}};
}
const model start{{1, 2, 3}, {}, {4, 5}};
constexpr sgd rule{.learning_rate = 0.125};

/// The sum of some steps' means.
model mean_of(int first, int last) {
  model sum{{0, 0, 0}, {}, {0, 0}};
  for (int step = first; step <= last; ++step)
    for (int rank = 0; rank < ranks; ++rank) {
      const model own = gradients_of(rank, step);
      for (std::size_t t = 0; t < sum.size(); ++t)
        for (std::size_t i = 0; i < sum[t].size(); ++i)
          sum[t][i] += static_cast<float>(samples_of(rank) / 8) * own[t][i];
    }
  return sum;
}

template <class D>
scheme_type scheme_with(use how, model& weights, const thread_communicator& communicator, D delay,
                        const scheme_options& options = {.bucket_bytes = 0}) {
  const gradient_averaging averaging{no_prediction{}, rule};
  if (how == use::sharded)
    return scheme_type(update_scheme{weights, communicator, delay, sharded_averaging{averaging}, options});
  return scheme_type(update_scheme{weights, communicator, delay, averaging, options});
}

/// A step, and what is due of it.
void step(use how, scheme_type& scheme, model& weights, const model& gradients, double samples) {
  if (how != use::by_layer) return scheme.step(weights, gradients, samples);
  scheme.begin_step(weights, samples);
  for (std::size_t layer = weights.size(); layer-- > 0;) scheme.gradient_ready(layer, gradients);
  scheme.end_step();
  for (std::size_t layer = 0; layer < weights.size(); ++layer) scheme.before_forward(layer);
}

}  // namespace

TEST_CASE("Gradients of steps without a message are added to the next one", "[engine][accumulation]") {
  const use how = GENERATE(use::whole, use::by_layer, use::sharded);
  const periodic_delay delay = GENERATE(periodic_delay{1, 0}, periodic_delay{3, 0}, periodic_delay{4, 2},
                                        periodic_delay{3, 3}, periodic_delay{2, 1});
  constexpr int steps = 10;
  const auto all = on_ranks(ranks, [&](thread_communicator communicator) {
    const int rank = communicator.rank();
    model weights = start;
    scheme_type scheme = scheme_with(how, weights, communicator, delay);
    std::vector<model> seen;
    for (int s = 0; s < steps; ++s) {
      step(how, scheme, weights, gradients_of(rank, s), samples_of(rank));
      seen.push_back(weights);
    }
    scheme.finish(weights);
    seen.push_back(weights);
    return seen;
  });

  model expected = start;
  const auto absorb = [&](std::int64_t launched) {
    const model mean = mean_of(static_cast<int>(launched - delay.period + 1), std::min<int>(steps - 1, int(launched)));
    for (std::size_t t = 0; t < mean.size(); ++t)
      for (std::size_t i = 0; i < mean[t].size(); ++i) expected[t][i] -= 0.125F * mean[t][i];
  };
  CAPTURE(static_cast<int>(how), delay.period, delay.delay);
  std::int64_t absorbed = 0;
  for (int s = 0; s < steps; ++s) {
    for (; (absorbed + 1) * delay.period - 1 + delay.delay <= s; ++absorbed) absorb((absorbed + 1) * delay.period - 1);
    for (const auto& seen : all) CHECK(seen[static_cast<std::size_t>(s)] == expected);
  }
  for (; absorbed * delay.period < steps; ++absorbed) absorb((absorbed + 1) * delay.period - 1);
  for (const auto& seen : all) CHECK(seen.back() == expected);
}

TEST_CASE("A rank's weight in a sum over steps is the mean of its samples", "[engine][accumulation]") {
  // One rank has 1, 3 and no samples, the other always 2: both weigh 2 of 4.
  const auto all = on_ranks(2, [](thread_communicator communicator) {
    const bool first = communicator.rank() == 0;
    std::vector<float> weights{0, 0};
    update_scheme scheme{weights, communicator, periodic_delay{3, 0}, gradient_averaging{no_prediction{}, sgd{1, 0}}};
    const std::vector<float> nothing{NAN, NAN};
    for (const int s : {1, 2, 3}) {
      const std::vector<float> gradients{static_cast<float>(s), first ? 1.F : 10.F};
      const double own[] = {1, 3, 0};
      scheme.note_loss(s);
      scheme.step(weights, first && s == 3 ? nothing : gradients, first ? own[s - 1] : 2);
    }
    const training_signal signal = scheme.signal();
    scheme.finish(weights);
    return std::pair(weights, signal);
  });
  for (const auto& [weights, signal] : all) {
    CHECK(signal.samples == 4);
    CHECK(signal.loss == Approx(0.5 * (1 + 3 * 2) / 4. + 0.5 * 2));
    CHECK(weights[0] == -(1 * 1 + 3 * 2 + 2 * (1 + 2 + 3)) / 4.F);
    CHECK(weights[1] == -(4 * 1 + 6 * 10) / 4.F);
  }
}

TEST_CASE("A poisoned sum over steps is not absorbed, and the next one is", "[engine][accumulation]") {
  const float bad = GENERATE(std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN());
  const int bad_step = GENERATE(0, 1, 2);
  const bool skips = GENERATE(false, true), sharded = GENERATE(false, true);
  const auto all = on_ranks(2, [&](thread_communicator communicator) {
    model weights = start;
    scheme_type scheme = scheme_with(sharded ? use::sharded : use::whole, weights, communicator, periodic_delay{3, 0},
                                     {.non_finite_gradients = skips ? non_finite::skip : non_finite::refuse});
    std::vector<std::string> refused;
    for (int s = 0; s < 6; ++s) {
      model gradients = {{1, 1, 1}, {}, {1, 1}};
      if (s == bad_step && communicator.rank() == 1) gradients[2][1] = bad;
      try {
        scheme.step(weights, gradients);
      } catch (const non_finite_error& error) {
        refused.push_back(std::to_string(s) + ": " + error.what());
      }
    }
    scheme.finish(weights);
    return std::tuple(refused, weights, scheme.statistics().skipped);
  });
  for (const auto& [refused, weights, skipped] : all) {
    CHECK(weights == model{{0.625F, 1.625F, 2.625F}, {}, {3.625F, 4.625F}});  // three of six steps
    CHECK(skipped == (skips ? 1 : 0));
    if (skips)
      CHECK(refused.empty());
    else
      CHECK(refused ==
            std::vector<std::string>{"2: syncopate: what rank 1 contributed to step 2 (bucket 0 of 1) is not finite"});
  }
}

TEST_CASE("Clipping before averaging bounds each step's own gradient", "[engine][accumulation][clipping]") {
  std::vector<float> weights{0, 0};
  update_scheme scheme{weights,
                       loopback{},
                       periodic_delay{2, 0},
                       gradient_averaging{no_prediction{}, sgd{1, 0}},
                       {.largest_norm = 5, .clip = clipping::before_averaging}};
  scheme.step(weights, std::vector<float>{30, 40});
  scheme.step(weights, std::vector<float>{3, 0});
  CHECK(weights == std::vector<float>{-6, -4});
}

TEST_CASE("Factors cannot be added up", "[engine][accumulation][factors]") {
  model weights{std::vector<float>(35)};
  const matrix_product nothing = [](auto) {};
  CHECK(text_of<configuration_error>([&] {
          update_scheme{weights,
                        loopback{},
                        periodic_delay{2, 0},
                        gradient_averaging{no_prediction{}, sgd{}},
                        {.factored_layers = {{0, 7, 5, 4}}, .product = nothing}};
        }) ==
        "syncopate: factored layer 0 needs a delay policy that launches at every step: factors cannot be added "
        "up");
}

namespace {

/// Alike for a while, then of alternating signs, then alike again.
model lazy_gradients(int rank, int step) {
  const float sign = step >= 20 && step < 50 && step % 2 == 0 ? -1.F : 1.F;
  const auto own = static_cast<float>((5 * rank + step * step) % 7) / 32;
  return {{sign, 2 * sign, own}, {}, {sign + own, sign - own}};
}

double square(const std::vector<double>& x) {
  double sum = 0;
  for (const double element : x) sum += element * element;
  return sum;
}

/// The steps at which lazy averaging reduces, by the formulas of its authors.
std::vector<int> lazy_launches(int steps, std::int64_t longest) {
  std::vector<int> launches;
  std::int64_t interval = 1, done = 0;
  std::vector<std::vector<double>> sums(ranks, std::vector<double>(5));
  for (int s = 0; s < steps; ++s) {
    const bool reduces = ++done == interval;
    double f = 0, g = 0, difference = 0;
    for (int rank = 0; rank < ranks; ++rank) {
      std::vector<double> latest;
      for (const auto& tensor : lazy_gradients(rank, s)) latest.insert(latest.end(), tensor.begin(), tensor.end());
      auto& sum = sums[static_cast<std::size_t>(rank)];
      std::vector<double> apart(5);
      for (std::size_t i = 0; i < 5; ++i) {
        sum[i] += latest[i];
        apart[i] = latest[i] - sum[i];
      }
      const double share = samples_of(rank) / 8;
      f += share * square(latest);
      g += share * square(sum);
      difference += share * square(apart);
    }
    if (!reduces) continue;
    launches.push_back(s);
    const bool angle = difference + f <= g, size = static_cast<double>(interval) * f <= g;
    if (angle && size) interval = std::min(longest, interval + 1);
    if (!angle && !size) interval = std::max<std::int64_t>(1, interval - 1);
    done = 0;
    for (auto& sum : sums) std::ranges::fill(sum, 0.);
  }
  return launches;
}

}  // namespace

TEST_CASE("Lazy averaging reduces the less often the better gradients agree", "[engine][accumulation][lazy]") {
  constexpr int steps = 70;
  const std::int64_t longest = GENERATE(1, 3, 8);
  const std::vector<int> expected = lazy_launches(steps, longest);
  if (longest == 8) {
    CHECK(expected.size() < 40);  // lazier than every other step
    bool slower = false, faster = false;
    for (std::size_t i = 2; i < expected.size(); ++i) {
      slower = slower || expected[i] - expected[i - 1] > expected[i - 1] - expected[i - 2];
      faster = faster || expected[i] - expected[i - 1] < expected[i - 1] - expected[i - 2];
    }
    CHECK((slower && faster));
  }
  std::vector<std::vector<model>> of_uses;
  for (const use how : {use::whole, use::by_layer, use::sharded}) {
    const auto all = on_ranks(ranks, [&](thread_communicator communicator) {
      const int rank = communicator.rank();
      model weights = start;
      scheme_type scheme = scheme_with(how, weights, communicator, lazy_delay{.longest_interval = longest});
      std::vector<model> seen;
      std::vector<int> launches;
      for (int s = 0; s < steps; ++s) {
        const auto before = scheme.statistics().launched;
        step(how, scheme, weights, lazy_gradients(rank, s), samples_of(rank));
        if (scheme.statistics().launched > before) launches.push_back(s);
        seen.push_back(weights);
      }
      scheme.finish(weights);
      seen.push_back(weights);
      return std::pair(seen, launches);
    });
    for (const auto& [seen, launches] : all) {
      CHECK(seen == all[0].first);
      CHECK(launches == expected);
    }
    of_uses.push_back(all[0].first);
  }
  CHECK(of_uses[0] == of_uses[1]);
  CHECK(of_uses[0] == of_uses[2]);
}

TEST_CASE("A lazy warm-up reduces at every step, and learns nothing", "[engine][accumulation][lazy]") {
  std::vector<float> weights(3);
  const std::vector<float> gradients{1, 2, 3};
  update_scheme scheme{weights, loopback{}, warm_up{4, lazy_delay{.longest_interval = 3}},
                       gradient_averaging{no_prediction{}, sgd{}}};
  std::vector<int> launches;
  for (int s = 0; s < 16; ++s) {
    const auto before = scheme.statistics().launched;
    scheme.step(weights, gradients);
    if (scheme.statistics().launched > before) launches.push_back(s);
  }
  CHECK(launches == std::vector<int>{0, 1, 2, 3, 4, 6, 9, 12, 15});
}

TEST_CASE("What travels tells the last gradient of a sum from the earlier ones", "[engine][accumulation][signal]") {
  const bool sharded = GENERATE(false, true);
  const auto all = on_ranks(2, [&](thread_communicator communicator) {
    const auto rank = static_cast<float>(communicator.rank());
    model weights = start;
    scheme_type scheme = scheme_with(sharded ? use::sharded : use::whole, weights, communicator, periodic_delay{3, 0},
                                     {.bucket_bytes = 0, .observes_gradients = true});
    for (const float x : {1.F, 2.F, 4.F}) scheme.step(weights, {{x, 0, rank}, {}, {-x, 1}});
    return scheme.signal();
  });
  for (const training_signal& signal : all) {
    CHECK(signal.step == 2);
    CHECK(signal.latest_squares == Approx(16 + 16 + 1 + 0.5));
    CHECK(signal.earlier_squares == Approx(9 + 9 + 4 + 0.5 * 4));
    CHECK(signal.mean_of_squares == Approx(49 + 49 + 9 + 0.5 * 9));
    CHECK(signal.square_of_mean == Approx(49 + 49 + 9 + 1.5 * 1.5));
  }
}
