#include <vector>

#include "everything.hpp"

float train_in_second_unit();

// The same instantiations as in first.cpp.
float train_in_second_unit() {
  std::vector<float> weights(1), gradients{1.0F};
  auto scheme = syncopate::synchronous_sgd(weights, syncopate::loopback{}, syncopate::sgd{.learning_rate = 0.5});
  scheme.step(weights, gradients);
  scheme.finish(weights);
  return weights[0];
}
