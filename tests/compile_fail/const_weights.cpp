// Weights that cannot be written to.
// expect: syncopate: weights must not be const
#include <syncopate/syncopate.hpp>
#include <vector>

int main() {
#ifdef SYNCOPATE_CONTROL
  std::vector<float> weights(3);
#else
  const std::vector<float> weights(3);
#endif
  auto scheme = syncopate::synchronous_sgd(weights, syncopate::loopback{}, syncopate::sgd{});
}
