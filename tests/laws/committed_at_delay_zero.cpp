// Law 1 for committed gradients: delay 0 is synchronous SGD, bitwise, whatever predicts.
#include <catch2/catch.hpp>

#include "../support/synchronous.hpp"
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
    const auto sgd_steps = synchronous<TestType, sgd>(ranks, steps, heavy_ball);
    const fixed_delay now{0};
    sgd_steps.equals(now, gradient_averaging{exponential_smoothing{}, heavy_ball});
    sgd_steps.equals(now, gradient_averaging{linear_extrapolation{}, heavy_ball});
    sgd_steps.equals(now, gradient_averaging{delay_compensation{}, heavy_ball});
    for (const auto per : {granularity::tensor, granularity::chunk}) {
      sgd_steps.equals(now, gradient_averaging{adaptive_exponential_smoothing{tracking_signal{}, per}, heavy_ball});
      sgd_steps.equals(now, gradient_averaging{adaptive_exponential_smoothing{cosine_gate{}, per}, heavy_ball});
    }
    sgd_steps.equals(warm_up{steps, fixed_delay{2}}, gradient_averaging{exponential_smoothing{}, heavy_ball});
    const auto adamw_steps = synchronous<TestType, adamw>(ranks, steps, adamw{});
    adamw_steps.equals(now, gradient_averaging{exponential_smoothing{}, adamw{}});
    const sgd nesterov{.learning_rate = 0.1, .momentum = 0.9, .nesterov = true};
    synchronous<TestType, sgd>(ranks, steps, nesterov)
        .equals(now, gradient_averaging{exponential_smoothing{}, nesterov});
  }
}

}  // namespace
