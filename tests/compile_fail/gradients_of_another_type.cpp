// Gradients in double for weights in float.
// expect: syncopate: gradients must have the element types of the weights
#include <syncopate/syncopate.hpp>
#include <vector>

int main() {
  std::vector<float> weights(3);
#ifdef SYNCOPATE_CONTROL
  std::vector<float> gradients(3);
#else
  std::vector<double> gradients(3);
#endif
  auto scheme = syncopate::synchronous_sgd(weights, syncopate::loopback{}, syncopate::sgd{});
  scheme.step(weights, gradients);
}
