// Law 2 for look-ahead: delay d equals the recurrence, with each predictor, rule and warm-up, and a local rule.
#include <catch2/catch.hpp>
#include <cstddef>
#include <limits>
#include <utility>
#include <vector>

#include "../support/reference.hpp"
#include "../support/training.hpp"
#include "syncopate/averaging/local_rule_averaging.hpp"
#include "syncopate/averaging/lookahead_averaging.hpp"
#include "syncopate/delays/fixed_delay.hpp"
#include "syncopate/delays/warm_up.hpp"
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
constexpr int delays[] = {0, 1, 2, 3, 5};
const std::vector<int> warm_ups{0, 3};
/// After a warm-up, predictions that are due before the next mean arrives ask the predictor twice about the newest one,
/// which makes a difference to those with a history; their warm-up is not part of the laws.
const std::vector<int> no_warm_up{0};

template <class T, class Predictor, class Rule, class ReferencePredictor, class ReferenceRule>
void compare(training_data (*make_data)(const std::vector<std::size_t>&, int, const std::vector<double>&), double bound,
             Predictor predictor, Rule rule, ReferencePredictor reference_predictor, ReferenceRule reference_rule,
             std::size_t group_length = SIZE_MAX, const std::vector<int>& with_warm_ups = warm_ups) {
  for (const rank_group& ranks : every_communicator()) {
    const auto data = make_data(awkward_sizes, steps, uneven(ranks.size));
    for (const int delay : delays)
      for (const int warm_up : with_warm_ups) {
        const auto expected =
            reference::lookahead(data, {delay, warm_up}, reference_predictor, reference_rule, group_length);
        const auto got = trajectories<T>(ranks, data, [&](auto& weights, any_communicator communicator) {
          return syncopate::update_scheme{weights, std::move(communicator),
                                          syncopate::warm_up{warm_up, syncopate::fixed_delay{delay}},
                                          syncopate::lookahead_averaging{predictor, rule}};
        });
        INFO(ranks.name << ", delay " << delay << ", warm-up " << warm_up);
        for (std::size_t rank = 0; rank < got.size(); ++rank) CHECK(distance(got[rank], expected[rank]) <= bound);
      }
  }
}

/// As for committed gradients: a step, a predicted one included, adds less than 40 ε.
template <class T>
constexpr double rounding = (steps + 5) * 40 * static_cast<double>(std::numeric_limits<T>::epsilon());
template <class T>
constexpr double rounding_of_gain = rounding<T> +
                                    (steps + 5) * 140 * static_cast<double>(std::numeric_limits<T>::epsilon());

TEMPLATE_TEST_CASE("Look-ahead: exact where arithmetic is", "[laws]", float, double) {
  compare<TestType>(exact_data, 0, syncopate::local_gradient{}, heavy_ball, reference::local_gradient{},
                    reference_heavy_ball);
  compare<TestType>(exact_data, 0, syncopate::no_prediction{}, heavy_ball, reference::no_prediction{},
                    reference_heavy_ball);
  compare<TestType>(exact_data, 0, syncopate::blended_gradient{0.25}, heavy_ball, reference::blended_gradient{0.25L},
                    reference_heavy_ball);
  compare<TestType>(exact_data, 0, syncopate::exponential_smoothing{0.5}, heavy_ball,
                    reference::exponential_smoothing{0.5L}, reference_heavy_ball, SIZE_MAX, no_warm_up);
  compare<TestType>(exact_data, 0, syncopate::linear_extrapolation{0.5}, heavy_ball,
                    reference::linear_extrapolation{0.5L}, reference_heavy_ball, SIZE_MAX, no_warm_up);
}

TEMPLATE_TEST_CASE("Look-ahead: predictors that round", "[laws]", float, double) {
  using syncopate::granularity;
  compare<TestType>(rough_data, rounding<TestType>, syncopate::delay_compensation{0.5}, heavy_ball,
                    reference::delay_compensation{0.5L}, reference_heavy_ball);
  for (const auto per : {granularity::tensor, granularity::chunk}) {
    const std::size_t length = per == granularity::chunk ? 512 : SIZE_MAX;
    compare<TestType>(rough_data, rounding_of_gain<TestType>,
                      syncopate::adaptive_exponential_smoothing{syncopate::tracking_signal{0.25, 0.25}, per},
                      heavy_ball, reference::tracking_signal{0.25L, 0.25L}, reference_heavy_ball, length, no_warm_up);
    compare<TestType>(rough_data, rounding_of_gain<TestType>,
                      syncopate::adaptive_exponential_smoothing{syncopate::cosine_gate{0.75}, per}, heavy_ball,
                      reference::cosine_gate{0.75L}, reference_heavy_ball, length, no_warm_up);
  }
}

TEMPLATE_TEST_CASE("Look-ahead: rules", "[laws]", float, double) {
  const syncopate::blended_gradient blend{0.25};
  const reference::blended_gradient reference_blend{0.25L};
  compare<TestType>(rough_data, rounding<TestType>, blend,
                    syncopate::sgd{.learning_rate = 0.125, .momentum = 0.5, .weight_decay = 0.125, .nesterov = true},
                    reference_blend, reference::sgd{0.125L, 0.5L, 0, 0.125L, true});
  compare<TestType>(rough_data, rounding<TestType>, blend,
                    syncopate::sgd{.learning_rate = 0.125, .momentum = 0.5, .dampening = 0.25, .weight_decay = 0.125},
                    reference_blend, reference::sgd{0.125L, 0.5L, 0.25L, 0.125L});
  compare<TestType>(rough_data, rounding<TestType>, blend, syncopate::adamw{0.125, 0.5, 0.75, 0.0009765625, 0.125},
                    reference_blend, reference::adamw{0.125L, 0.5L, 0.75L, 0.0009765625L, 0.125L});
}

TEMPLATE_TEST_CASE("OD-SGD with the authors' local rule", "[laws]", float, double) {
  for (const rank_group& ranks : every_communicator())
    for (const int warm_up : {0, 1, 3}) {
      const auto data = exact_data(awkward_sizes, steps, uneven(ranks.size));
      const auto expected = reference::local_rule(data, warm_up, reference_heavy_ball, reference::sgd{0.25L, 0.25L});
      const auto got = trajectories<TestType>(ranks, data, [&](auto& weights, any_communicator communicator) {
        return syncopate::update_scheme{
            weights, std::move(communicator), syncopate::warm_up{warm_up, syncopate::fixed_delay{1}},
            syncopate::local_rule_averaging{syncopate::local_gradient{}, heavy_ball,
                                            syncopate::sgd{.learning_rate = 0.25, .momentum = 0.25}}};
      });
      INFO(ranks.name << ", warm-up " << warm_up);
      for (std::size_t rank = 0; rank < got.size(); ++rank) CHECK(distance(got[rank], expected[rank]) == 0);
    }
}

}  // namespace
