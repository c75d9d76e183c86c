// Predictors with an adaptive gain keep the laws.
#include "conforms.hpp"
#include "syncopate/syncopate.hpp"

using namespace syncopate;
using support::conforms;

TEST_CASE("Predictors with an adaptive gain conform", "[conformance]") {
  conforms(14, adaptive_exponential_smoothing{fixed_gain{}});
  for (const granularity per : {granularity::tensor, granularity::chunk}) {
    conforms(13, adaptive_exponential_smoothing{tracking_signal{}, per});
    conforms(13, adaptive_exponential_smoothing{cosine_gate{}, per});
  }
}
