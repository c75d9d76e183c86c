// Law 2 for look-ahead: delay d equals the recurrence, with each predictor, rule and warm-up, and a local rule.
#include <catch2/catch.hpp>
#include <cstddef>
#include <limits>

#include "../support/recurrence.hpp"
#include "syncopate/averaging/local_rule_averaging.hpp"
#include "syncopate/averaging/lookahead_averaging.hpp"
#include "syncopate/predictors/adaptive_exponential_smoothing.hpp"
#include "syncopate/predictors/blended_gradient.hpp"
#include "syncopate/predictors/delay_compensation.hpp"
#include "syncopate/predictors/exponential_smoothing.hpp"
#include "syncopate/predictors/gain_laws/cosine_gate.hpp"
#include "syncopate/predictors/linear_extrapolation.hpp"
#include "syncopate/predictors/local_gradient.hpp"
#include "syncopate/predictors/no_prediction.hpp"
#include "syncopate/rules/adamw.hpp"
#include "syncopate/rules/sgd.hpp"

namespace {

using namespace support;

constexpr syncopate::sgd heavy_ball{.learning_rate = 0.125, .momentum = 0.5};
const reference::sgd reference_heavy_ball{.learning_rate = 0.125L, .momentum = 0.5L};

constexpr int steps = 8;
const task exact{exact_data, steps, {0, 3}}, rough{rough_data, steps, {0, 3}};
/// After a warm-up, predictions that are due before the next mean arrives ask the predictor twice about the newest one,
/// which makes a difference to those with a history; their warm-up is not part of the laws.
const task exact_from_the_start{exact_data, steps, {0}}, rough_from_the_start{rough_data, steps, {0}};

template <class T, class Predictor, class Rule>
void compare(const task& on, double bound, Predictor predictor, Rule rule,
             const reference::gradient_predictor& reference_predictor, const reference::update_rule& reference_rule,
             std::size_t group_length = SIZE_MAX) {
  support::compare<T>(
      on, bound,
      [&](auto delay) {
        return compiled::scheme<model<T>>(delay, syncopate::lookahead_averaging{predictor, rule});
      },
      [&](const auto& data, auto when) {
        return reference::lookahead(data, when, reference_predictor, reference_rule, group_length);
      });
}

/// As for committed gradients: a step, a predicted one included, adds less than 40 ε.
template <class T>
constexpr double rounding = (steps + 5) * 40 * static_cast<double>(std::numeric_limits<T>::epsilon());
template <class T>
constexpr double rounding_of_gain = rounding<T> +
                                    (steps + 5) * 140 * static_cast<double>(std::numeric_limits<T>::epsilon());

TEMPLATE_TEST_CASE("Look-ahead: exact where arithmetic is", "[laws]", float, double) {
  compare<TestType>(exact, 0, syncopate::local_gradient{}, heavy_ball, reference::local_gradient{},
                    reference_heavy_ball);
  compare<TestType>(exact, 0, syncopate::no_prediction{}, heavy_ball, reference::no_prediction{}, reference_heavy_ball);
  compare<TestType>(exact, 0, syncopate::blended_gradient{0.25}, heavy_ball, reference::blended_gradient{0.25L},
                    reference_heavy_ball);
  compare<TestType>(exact_from_the_start, 0, syncopate::exponential_smoothing{0.5}, heavy_ball,
                    reference::exponential_smoothing{0.5L}, reference_heavy_ball);
  compare<TestType>(exact_from_the_start, 0, syncopate::linear_extrapolation{0.5}, heavy_ball,
                    reference::linear_extrapolation{0.5L}, reference_heavy_ball);
}

TEMPLATE_TEST_CASE("Look-ahead: predictors that round", "[laws]", float, double) {
  using syncopate::granularity;
  compare<TestType>(rough, rounding<TestType>, syncopate::delay_compensation{0.5}, heavy_ball,
                    reference::delay_compensation{0.5L}, reference_heavy_ball);
  for (const auto per : {granularity::tensor, granularity::chunk}) {
    const std::size_t length = per == granularity::chunk ? 512 : SIZE_MAX;
    compare<TestType>(rough_from_the_start, rounding_of_gain<TestType>,
                      syncopate::adaptive_exponential_smoothing{syncopate::tracking_signal{0.25, 0.25}, per},
                      heavy_ball, reference::tracking_signal{0.25L, 0.25L}, reference_heavy_ball, length);
    compare<TestType>(rough_from_the_start, rounding_of_gain<TestType>,
                      syncopate::adaptive_exponential_smoothing{syncopate::cosine_gate{0.75}, per}, heavy_ball,
                      reference::cosine_gate{0.75L}, reference_heavy_ball, length);
  }
}

TEMPLATE_TEST_CASE("Look-ahead: rules", "[laws]", float, double) {
  const syncopate::blended_gradient blend{0.25};
  const reference::blended_gradient reference_blend{0.25L};
  compare<TestType>(rough, rounding<TestType>, blend,
                    syncopate::sgd{.learning_rate = 0.125, .momentum = 0.5, .weight_decay = 0.125, .nesterov = true},
                    reference_blend, reference::sgd{0.125L, 0.5L, 0, 0.125L, true});
  compare<TestType>(rough, rounding<TestType>, blend,
                    syncopate::sgd{.learning_rate = 0.125, .momentum = 0.5, .dampening = 0.25, .weight_decay = 0.125},
                    reference_blend, reference::sgd{0.125L, 0.5L, 0.25L, 0.125L});
  compare<TestType>(rough, rounding<TestType>, blend, syncopate::adamw{0.125, 0.5, 0.75, 0.0009765625, 0.125},
                    reference_blend, reference::adamw{0.125L, 0.5L, 0.75L, 0.0009765625L, 0.125L});
}

TEMPLATE_TEST_CASE("OD-SGD with the authors' local rule", "[laws]", float, double) {
  for (const rank_group& ranks : every_communicator())
    for (const int warm_up : {0, 1, 3}) {
      const auto data = exact_data(awkward_sizes, steps, uneven(ranks.size));
      const auto expected = reference::local_rule(data, warm_up, reference_heavy_ball, reference::sgd{0.25L, 0.25L});
      const auto got = trajectories<TestType>(
          ranks, data,
          compiled::scheme<model<TestType>>(
              syncopate::warm_up{warm_up, syncopate::fixed_delay{1}},
              syncopate::local_rule_averaging{syncopate::local_gradient{}, heavy_ball,
                                              syncopate::sgd{.learning_rate = 0.25, .momentum = 0.25}}));
      INFO(ranks.name << ", warm-up " << warm_up);
      for (std::size_t rank = 0; rank < got.size(); ++rank) CHECK(distance(got[rank], expected[rank]) == 0);
    }
}

}  // namespace
