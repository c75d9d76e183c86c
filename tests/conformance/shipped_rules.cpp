// All rules of the library keep the laws.
#include "conforms.hpp"
#include "syncopate/syncopate.hpp"

using namespace syncopate;
using support::conforms;

TEST_CASE("Rules conform", "[conformance]") {
  conforms(14, sgd{}, &sgd::learning_rate, &sgd::momentum, &sgd::dampening, &sgd::weight_decay, &sgd::nesterov);
  conforms(14, sgd{.momentum = 0.9, .weight_decay = 1e-2, .nesterov = true});
  conforms(14, sgd{.momentum = 0.9, .dampening = 0.5});
  conforms(14, adamw{}, &adamw::learning_rate, &adamw::beta1, &adamw::beta2, &adamw::epsilon, &adamw::weight_decay);
}
