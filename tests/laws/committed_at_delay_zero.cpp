// Law 1 for committed gradients: delay 0 is synchronous SGD, bitwise, whatever predicts.
#include <catch2/catch.hpp>

#include "../support/synchronous.hpp"
#include "syncopate/averaging/gradient_averaging.hpp"
#include "syncopate/delays/fixed_delay.hpp"
#include "syncopate/delays/warm_up.hpp"
#include "syncopate/predictors/adaptive_exponential_smoothing.hpp"
#include "syncopate/predictors/delay_compensation.hpp"
#include "syncopate/predictors/exponential_smoothing.hpp"
#include "syncopate/predictors/gain_laws/cosine_gate.hpp"
#include "syncopate/predictors/linear_extrapolation.hpp"
#include "syncopate/rules/adamw.hpp"
#include "syncopate/rules/sgd.hpp"

namespace {

using namespace support;
using namespace syncopate;

constexpr int steps = 7;
constexpr sgd heavy_ball{.learning_rate = 0.1, .momentum = 0.9, .dampening = 0.1, .weight_decay = 1e-2};

TEMPLATE_TEST_CASE("Committed gradients at delay 0 are synchronous SGD, bitwise", "[laws]", float, double) {
  for (const rank_group& ranks : every_communicator()) {
    INFO(ranks.name);
    const auto scheme = [](auto delay, auto predictor, auto rule) {
      return compiled::scheme<model<TestType>>(delay, gradient_averaging{predictor, rule});
    };
    const warm_up now{0, fixed_delay{0}};
    const synchronous<TestType> sgd_steps(ranks, steps, heavy_ball);
    sgd_steps.equals(scheme(now, exponential_smoothing{}, heavy_ball));
    sgd_steps.equals(scheme(now, linear_extrapolation{}, heavy_ball));
    sgd_steps.equals(scheme(now, delay_compensation{}, heavy_ball));
    for (const auto per : {granularity::tensor, granularity::chunk}) {
      sgd_steps.equals(scheme(now, adaptive_exponential_smoothing{tracking_signal{}, per}, heavy_ball));
      sgd_steps.equals(scheme(now, adaptive_exponential_smoothing{cosine_gate{}, per}, heavy_ball));
    }
    sgd_steps.equals(scheme(warm_up{steps, fixed_delay{2}}, exponential_smoothing{}, heavy_ball));
    synchronous<TestType>(ranks, steps, adamw{}).equals(scheme(now, exponential_smoothing{}, adamw{}));
    const sgd nesterov{.learning_rate = 0.1, .momentum = 0.9, .nesterov = true};
    synchronous<TestType>(ranks, steps, nesterov).equals(scheme(now, exponential_smoothing{}, nesterov));
  }
}

}  // namespace
