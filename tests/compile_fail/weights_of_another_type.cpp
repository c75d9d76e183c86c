// Weights in double for a scheme that was made for float.
// expect: syncopate: weights must have the element types that the scheme was made for
#include <syncopate/syncopate.hpp>
#include <vector>

int main() {
  std::vector<float> weights(3), gradients(3);
  auto scheme = syncopate::synchronous_sgd(weights, syncopate::loopback{}, syncopate::sgd{});
#ifdef SYNCOPATE_CONTROL
  std::vector<float> others(3);
#else
  std::vector<double> others(3);
#endif
  scheme.step(others, gradients);
}
