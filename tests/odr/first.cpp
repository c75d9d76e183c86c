#include <vector>

#include "everything.hpp"

float train_in_second_unit();

int main() {
  std::vector<float> weights(1), gradients{1.0F};
  auto scheme = syncopate::synchronous_sgd(weights, syncopate::loopback{}, syncopate::sgd{.learning_rate = 0.5});
  scheme.step(weights, gradients);
  scheme.finish(weights);
  return weights[0] == -0.5F && train_in_second_unit() == -0.5F ? 0 : 1;
}
