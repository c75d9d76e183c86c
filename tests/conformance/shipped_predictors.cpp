// Predictors of the library keep the laws.
#include "conforms.hpp"
#include "syncopate/syncopate.hpp"

using namespace syncopate;
using support::conforms;

TEST_CASE("Predictors without a history conform", "[conformance]") {
  conforms(14, no_prediction{});
  conforms(14, local_gradient{});
  conforms(14, blended_gradient{}, &blended_gradient::own_share);
  conforms(14, delay_compensation{}, &delay_compensation::strength);
}

TEST_CASE("Predictors with a history conform", "[conformance]") {
  conforms(14, exponential_smoothing{}, &exponential_smoothing::gain);
  conforms(14, linear_extrapolation{}, &linear_extrapolation::horizon);
}
