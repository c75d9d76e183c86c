#include "registration.hpp"
#include "suite.hpp"

void suite::gradient_averaging() {
  using namespace parts;
  registration::each<no_prediction, smoothing, adaptive_smoothing<everything>,
                     adaptive_smoothing<syncopate::detail::chunk_length>, extrapolation, compensation>(
      []<class Predictor, class Rule, class T>() { registration::gradient_averaging<Predictor, Rule, T>(); });
}
