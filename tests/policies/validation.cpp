#include <catch2/catch.hpp>
#include <cstdint>
#include <limits>
#include <string>
#include <syncopate/delays/fixed_delay.hpp>
#include <syncopate/delays/periodic_delay.hpp>
#include <syncopate/delays/warm_up.hpp>
#include <syncopate/merges/blend.hpp>
#include <syncopate/merges/two_parameter_merge.hpp>
#include <syncopate/predictors/adaptive_exponential_smoothing.hpp>
#include <syncopate/predictors/blended_gradient.hpp>
#include <syncopate/predictors/delay_compensation.hpp>
#include <syncopate/predictors/exponential_smoothing.hpp>
#include <syncopate/predictors/gain_laws/cosine_gate.hpp>
#include <syncopate/predictors/gain_laws/fixed_gain.hpp>
#include <syncopate/predictors/linear_extrapolation.hpp>
#include <syncopate/rules/adamw.hpp>
#include <syncopate/rules/sgd.hpp>

using namespace syncopate;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

/// What a policy throws at its hyper-parameters; empty where it accepts them.
std::string complaint(const auto& policy) {
  try {
    policy.validate();
  } catch (const configuration_error& error) {
    return error.what();
  }
  return {};
}

}  // namespace

TEST_CASE("defaults and limits are accepted", "[validation]") {
  CHECK(complaint(sgd{}) == "");
  CHECK(complaint(sgd{.learning_rate = 0, .momentum = 0, .dampening = 1, .weight_decay = 0}) == "");
  CHECK(complaint(sgd{.momentum = 0.9, .nesterov = true}) == "");
  CHECK(complaint(adamw{}) == "");
  CHECK(complaint(adamw{.learning_rate = 0, .beta1 = 0, .beta2 = 0, .weight_decay = 0}) == "");
  CHECK(complaint(exponential_smoothing{}) == "");
  CHECK(complaint(exponential_smoothing{.gain = 1}) == "");
  CHECK(complaint(adaptive_exponential_smoothing{}) == "");
  CHECK(complaint(adaptive_exponential_smoothing{cosine_gate{}}) == "");
  CHECK(complaint(adaptive_exponential_smoothing{fixed_gain{}}) == "");
  CHECK(complaint(linear_extrapolation{}) == "");
  CHECK(complaint(linear_extrapolation{.horizon = 0}) == "");
  CHECK(complaint(delay_compensation{}) == "");
  CHECK(complaint(blended_gradient{}) == "");
  CHECK(complaint(blend{}) == "");
  CHECK(complaint(blend{.own_share = 0}) == "");
  CHECK(complaint(blend{.own_share = 1}) == "");
  CHECK(complaint(two_parameter_merge{}) == "");
  CHECK(complaint(fixed_delay{}) == "");
  CHECK(complaint(fixed_delay{0}) == "");
  CHECK(complaint(periodic_delay{}) == "");
  CHECK(complaint(periodic_delay{.period = 1, .delay = 1}) == "");
  CHECK(complaint(warm_up{0, fixed_delay{}}) == "");
}

TEST_CASE("a complaint names the hyper-parameter, what it must be, and what it is", "[validation]") {
  CHECK(complaint(sgd{.learning_rate = -0.1}) ==
        "syncopate: sgd.learning_rate must be a finite number of at least 0, but is -0.1");
  CHECK(complaint(sgd{.learning_rate = not_a_number}) ==
        "syncopate: sgd.learning_rate must be a finite number of at least 0, but is nan");
  CHECK(complaint(sgd{.learning_rate = infinity}) ==
        "syncopate: sgd.learning_rate must be a finite number of at least 0, but is inf");
  CHECK(complaint(sgd{.momentum = 1}) ==
        "syncopate: sgd.momentum must be a finite number of at least 0 and below 1, but is 1");
  CHECK(complaint(sgd{.momentum = -0.5}) ==
        "syncopate: sgd.momentum must be a finite number of at least 0 and below 1, but is -0.5");
  CHECK(complaint(sgd{.dampening = 1.5}) == "syncopate: sgd.dampening must be a finite number from 0 to 1, but is 1.5");
  CHECK(complaint(sgd{.weight_decay = -1e-4}) ==
        "syncopate: sgd.weight_decay must be a finite number of at least 0, but is -1e-04");
  CHECK(complaint(sgd{.nesterov = true}) ==
        "syncopate: sgd.nesterov requires momentum above 0 and no dampening, but they are 0 and 0");
  CHECK(complaint(sgd{.momentum = 0.9, .dampening = 0.1, .nesterov = true}) ==
        "syncopate: sgd.nesterov requires momentum above 0 and no dampening, but they are 0.9 and 0.1");

  CHECK(complaint(adamw{.learning_rate = -1}) ==
        "syncopate: adamw.learning_rate must be a finite number of at least 0, but is -1");
  CHECK(complaint(adamw{.beta1 = 1}) ==
        "syncopate: adamw.beta1 must be a finite number of at least 0 and below 1, but is 1");
  CHECK(complaint(adamw{.beta2 = not_a_number}) ==
        "syncopate: adamw.beta2 must be a finite number of at least 0 and below 1, but is nan");
  CHECK(complaint(adamw{.epsilon = 0}) == "syncopate: adamw.epsilon must be a finite number above 0, but is 0");
  CHECK(complaint(adamw{.epsilon = infinity}) ==
        "syncopate: adamw.epsilon must be a finite number above 0, but is inf");
  CHECK(complaint(adamw{.weight_decay = -2}) ==
        "syncopate: adamw.weight_decay must be a finite number of at least 0, but is -2");

  CHECK(complaint(exponential_smoothing{.gain = 0}) ==
        "syncopate: exponential_smoothing.gain must be a finite number above 0 and at most 1, but is 0");
  CHECK(complaint(exponential_smoothing{.gain = 1.25}) ==
        "syncopate: exponential_smoothing.gain must be a finite number above 0 and at most 1, but is 1.25");
  CHECK(complaint(adaptive_exponential_smoothing{tracking_signal{.smoothing = 0}}) ==
        "syncopate: tracking_signal.smoothing must be a finite number above 0 and at most 1, but is 0");
  CHECK(complaint(adaptive_exponential_smoothing{tracking_signal{.lowest_gain = 2}}) ==
        "syncopate: tracking_signal.lowest_gain must be a finite number from 0 to 1, but is 2");
  CHECK(complaint(adaptive_exponential_smoothing{cosine_gate{.strength = 1}}) ==
        "syncopate: cosine_gate.strength must be a finite number of at least 0 and below 1, but is 1");
  CHECK(complaint(adaptive_exponential_smoothing{fixed_gain{.gain = not_a_number}}) ==
        "syncopate: fixed_gain.gain must be a finite number above 0 and at most 1, but is nan");
  CHECK(complaint(linear_extrapolation{.horizon = -1}) ==
        "syncopate: linear_extrapolation.horizon must be a finite number of at least 0, but is -1");
  CHECK(complaint(delay_compensation{.strength = infinity}) ==
        "syncopate: delay_compensation.strength must be a finite number of at least 0, but is inf");
  CHECK(complaint(blended_gradient{.own_share = 1.1}) ==
        "syncopate: blended_gradient.own_share must be a finite number from 0 to 1, but is 1.1");

  CHECK(complaint(blend{.own_share = -0.25}) ==
        "syncopate: blend.own_share must be a finite number from 0 to 1, but is -0.25");
  CHECK(complaint(two_parameter_merge{.local_progress = 2}) ==
        "syncopate: two_parameter_merge.local_progress must be a finite number from 0 to 1, but is 2");
  CHECK(complaint(two_parameter_merge{.disagreement = not_a_number}) ==
        "syncopate: two_parameter_merge.disagreement must be a finite number from 0 to 1, but is nan");

  CHECK(complaint(fixed_delay{-1}) ==
        "syncopate: fixed_delay.delay must be a whole number from 0 to 2147483647, but is -1");
  CHECK(complaint(fixed_delay{std::int64_t{1} << 40}) ==
        "syncopate: fixed_delay.delay must be a whole number from 0 to 2147483647, but is 1099511627776");
  CHECK(complaint(periodic_delay{.period = 0, .delay = 0}) ==
        "syncopate: periodic_delay.period must be a whole number from 1 to 2147483647, but is 0");
  CHECK(complaint(periodic_delay{.period = 4, .delay = -1}) ==
        "syncopate: periodic_delay.delay must be a whole number of at least 0, but is -1");
  CHECK(complaint(periodic_delay{.period = 4, .delay = 5}) ==
        "syncopate: periodic_delay.delay must not be longer than the period, but they are 5 and 4");
  CHECK(complaint(warm_up{-1, fixed_delay{}}) ==
        "syncopate: warm_up.steps must be a whole number of at least 0, but is -1");
  CHECK(complaint(warm_up{1, fixed_delay{-3}}) ==
        "syncopate: fixed_delay.delay must be a whole number from 0 to 2147483647, but is -3");
}
