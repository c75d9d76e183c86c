// Law 2 for committed gradients: delay d equals the recurrence, with each predictor, rule and warm-up.
#include <catch2/catch.hpp>
#include <cstddef>
#include <limits>

#include "../support/recurrence.hpp"
#include "syncopate/averaging/gradient_averaging.hpp"
#include "syncopate/predictors/adaptive_exponential_smoothing.hpp"
#include "syncopate/predictors/delay_compensation.hpp"
#include "syncopate/predictors/exponential_smoothing.hpp"
#include "syncopate/predictors/gain_laws/cosine_gate.hpp"
#include "syncopate/predictors/gain_laws/fixed_gain.hpp"
#include "syncopate/predictors/linear_extrapolation.hpp"
#include "syncopate/predictors/no_prediction.hpp"
#include "syncopate/rules/adamw.hpp"
#include "syncopate/rules/sgd.hpp"

namespace {

using namespace support;

constexpr syncopate::sgd heavy_ball{.learning_rate = 0.125, .momentum = 0.5};
const reference::sgd reference_heavy_ball{.learning_rate = 0.125L, .momentum = 0.5L};

constexpr int steps = 9;
const task exact{exact_data, steps, {0, 4}}, rough{rough_data, steps, {0, 4}};

template <class T, class Predictor, class Rule>
void compare(const task& on, double bound, Predictor predictor, Rule rule,
             const reference::gradient_predictor& reference_predictor, const reference::update_rule& reference_rule,
             std::size_t group_length = SIZE_MAX) {
  support::compare<T>(
      on, bound,
      [&](auto delay) {
        return compiled::scheme<model<T>>(delay, syncopate::gradient_averaging{predictor, rule});
      },
      [&](const auto& data, auto when) {
        return reference::committed(data, when, reference_predictor, reference_rule, group_length);
      });
}

/// Weights and velocities stay below 4. A step rounds at most 3 times in the mean of up to 5 ranks and 5 times each in
/// predictor and rule; each rounding of at most 4 · ε/2 reaches the weights multiplied by learning rate / (1 −
/// momentum) = ¼, but for the last two of the rule, which reach them as they are. Histories carry roundings over,
/// halved each time. So a step adds less than 2 · (13/4 · 2 + 2) · 2 ε < 40 ε.
template <class T>
constexpr double rounding = steps * 40 * static_cast<double>(std::numeric_limits<T>::epsilon());

/// An adaptive gain is a quotient of sums of up to 1100 terms in 16 lanes: 70 additions, then roots, ε/2 each, so that
/// the gain and the histories behind it (each error of which lives on for at most 1 / lowest gain = 4 steps) add up to
/// 2 · 4 · 70 ε in a prediction, of which a quarter reaches the weights.
template <class T>
constexpr double rounding_of_gain = rounding<T> + steps * 140 * static_cast<double>(std::numeric_limits<T>::epsilon());

TEMPLATE_TEST_CASE("Committed gradients: exact where arithmetic is", "[laws]", float, double) {
  compare<TestType>(exact, 0, syncopate::no_prediction{}, heavy_ball, reference::no_prediction{}, reference_heavy_ball);
  compare<TestType>(exact, 0, syncopate::exponential_smoothing{0.5}, heavy_ball, reference::exponential_smoothing{0.5L},
                    reference_heavy_ball);
  compare<TestType>(exact, 0, syncopate::adaptive_exponential_smoothing{syncopate::fixed_gain{0.5}}, heavy_ball,
                    reference::exponential_smoothing{0.5L}, reference_heavy_ball);
  compare<TestType>(exact, 0, syncopate::linear_extrapolation{0.5}, heavy_ball, reference::linear_extrapolation{0.5L},
                    reference_heavy_ball);
}

TEMPLATE_TEST_CASE("Committed gradients: predictors", "[laws]", float, double) {
  compare<TestType>(rough, rounding<TestType>, syncopate::exponential_smoothing{0.25}, heavy_ball,
                    reference::exponential_smoothing{0.25L}, reference_heavy_ball);
  compare<TestType>(rough, rounding<TestType>, syncopate::linear_extrapolation{1}, heavy_ball,
                    reference::linear_extrapolation{1}, reference_heavy_ball);
  compare<TestType>(rough, rounding<TestType>, syncopate::delay_compensation{0.5}, heavy_ball,
                    reference::delay_compensation{0.5L}, reference_heavy_ball);
}

TEMPLATE_TEST_CASE("Committed gradients: adaptive gains", "[laws]", float, double) {
  using syncopate::granularity;
  for (const auto per : {granularity::tensor, granularity::chunk}) {
    const std::size_t length = per == granularity::chunk ? 512 : SIZE_MAX;
    compare<TestType>(rough, rounding_of_gain<TestType>,
                      syncopate::adaptive_exponential_smoothing{syncopate::tracking_signal{0.25, 0.25}, per},
                      heavy_ball, reference::tracking_signal{0.25L, 0.25L}, reference_heavy_ball, length);
    compare<TestType>(rough, rounding_of_gain<TestType>,
                      syncopate::adaptive_exponential_smoothing{syncopate::cosine_gate{0.75}, per}, heavy_ball,
                      reference::cosine_gate{0.75L}, reference_heavy_ball, length);
  }
}

TEMPLATE_TEST_CASE("Committed gradients: rules", "[laws]", float, double) {
  const syncopate::exponential_smoothing smoothing{0.25};
  const reference::exponential_smoothing reference_smoothing{0.25L};
  compare<TestType>(rough, rounding<TestType>, smoothing,
                    syncopate::sgd{.learning_rate = 0.125, .momentum = 0.5, .weight_decay = 0.125, .nesterov = true},
                    reference_smoothing, reference::sgd{0.125L, 0.5L, 0, 0.125L, true});
  compare<TestType>(rough, rounding<TestType>, smoothing,
                    syncopate::sgd{.learning_rate = 0.125, .momentum = 0.5, .dampening = 0.25, .weight_decay = 0.125},
                    reference_smoothing, reference::sgd{0.125L, 0.5L, 0.25L, 0.125L});
  // m / √v is below 1 / √(1 − beta2) = 2, and its parts are rounded relative to themselves or to the largest gradient.
  compare<TestType>(rough, rounding<TestType>, smoothing, syncopate::adamw{0.125, 0.5, 0.75, 0.0009765625, 0.125},
                    reference_smoothing, reference::adamw{0.125L, 0.5L, 0.75L, 0.0009765625L, 0.125L});
}

}  // namespace
