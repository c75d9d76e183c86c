#include "registration.hpp"
#include "suite.hpp"

void suite::lookahead_averaging() {
  using namespace parts;
  registration::each<local, blended, no_prediction, smoothing, adaptive_smoothing<everything>, extrapolation,
                     compensation>(
      []<class Predictor, class Rule, class T>() { registration::lookahead_averaging<Predictor, Rule, T>(); });
}
