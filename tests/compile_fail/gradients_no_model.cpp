// A gradient that is a number.
// expect: syncopate: gradients must be a tensor
#include <syncopate/syncopate.hpp>
#include <vector>

int main() {
  std::vector<float> weights(3);
#ifdef SYNCOPATE_CONTROL
  std::vector<float> gradients(3);
#else
  float gradients = 0;
#endif
  auto scheme = syncopate::synchronous_sgd(weights, syncopate::loopback{}, syncopate::sgd{});
  scheme.step(weights, gradients);
}
