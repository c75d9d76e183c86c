// Law 1 for look-ahead: delay 0 is synchronous SGD, bitwise, whatever predicts.
#include <catch2/catch.hpp>

#include "../support/synchronous.hpp"
#include "syncopate/averaging/local_rule_averaging.hpp"
#include "syncopate/averaging/lookahead_averaging.hpp"
#include "syncopate/delays/fixed_delay.hpp"
#include "syncopate/delays/warm_up.hpp"
#include "syncopate/predictors/adaptive_exponential_smoothing.hpp"
#include "syncopate/predictors/blended_gradient.hpp"
#include "syncopate/predictors/delay_compensation.hpp"
#include "syncopate/predictors/exponential_smoothing.hpp"
#include "syncopate/predictors/linear_extrapolation.hpp"
#include "syncopate/predictors/local_gradient.hpp"
#include "syncopate/predictors/no_prediction.hpp"
#include "syncopate/rules/adamw.hpp"
#include "syncopate/rules/sgd.hpp"

namespace {

using namespace support;
using namespace syncopate;

constexpr int steps = 7;
constexpr sgd heavy_ball{.learning_rate = 0.1, .momentum = 0.9, .dampening = 0.1, .weight_decay = 1e-2};

TEMPLATE_TEST_CASE("Look-ahead at delay 0 is synchronous SGD, bitwise", "[laws]", float, double) {
  for (const rank_group& ranks : every_communicator()) {
    INFO(ranks.name);
    const auto scheme = [](auto delay, auto averaging) { return compiled::scheme<model<TestType>>(delay, averaging); };
    const warm_up now{0, fixed_delay{0}};
    const synchronous<TestType> sgd_steps(ranks, steps, heavy_ball);
    sgd_steps.equals(scheme(now, lookahead_averaging{no_prediction{}, heavy_ball}));
    sgd_steps.equals(scheme(now, lookahead_averaging{local_gradient{}, heavy_ball}));
    sgd_steps.equals(scheme(now, lookahead_averaging{blended_gradient{}, heavy_ball}));
    sgd_steps.equals(scheme(now, lookahead_averaging{exponential_smoothing{}, heavy_ball}));
    sgd_steps.equals(scheme(now, lookahead_averaging{linear_extrapolation{}, heavy_ball}));
    sgd_steps.equals(scheme(now, lookahead_averaging{delay_compensation{}, heavy_ball}));
    for (const auto per : {granularity::tensor, granularity::chunk})
      sgd_steps.equals(
          scheme(now, lookahead_averaging{adaptive_exponential_smoothing{tracking_signal{}, per}, heavy_ball}));
    sgd_steps.equals(scheme(now, local_rule_averaging{local_gradient{}, heavy_ball, sgd{}}));
    sgd_steps.equals(scheme(warm_up{steps, fixed_delay{2}}, lookahead_averaging{local_gradient{}, heavy_ball}));
    sgd_steps.equals(scheme(warm_up{steps, fixed_delay{1}}, local_rule_averaging{local_gradient{}, heavy_ball, sgd{}}));
    synchronous<TestType>(ranks, steps, adamw{}).equals(scheme(now, lookahead_averaging{blended_gradient{}, adamw{}}));
  }
}

}  // namespace
