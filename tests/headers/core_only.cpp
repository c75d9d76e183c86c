// Trains least squares with nothing on the machine but the standard library: see core_only.cmake.
#include <array>
#include <cmath>
#include <syncopate/communicators/thread_team.hpp>
#include <syncopate/syncopate.hpp>
#include <vector>

int main() {
  // Minimises the squared distance of weights to targets.
  const std::array<float, 3> targets{1.0F, -2.0F, 0.5F};
  std::vector<float> weights(3), gradients(3);
  auto scheme = syncopate::synchronous_sgd(weights, syncopate::loopback{}, syncopate::sgd{.learning_rate = 0.1});
  for (int step = 0; step < 200; ++step) {
    for (std::size_t i = 0; i < 3; ++i) gradients[i] = weights[i] - targets[i];
    scheme.step(weights, gradients);
  }
  scheme.finish(weights);
  for (std::size_t i = 0; i < 3; ++i)
    if (!(std::abs(weights[i] - targets[i]) < 1e-5F)) return 1;  // 0.9^200 < 1e-9
}
