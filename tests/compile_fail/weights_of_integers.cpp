// Only float and double can be trained.
// expect: syncopate: weights must be a tensor
#include <syncopate/syncopate.hpp>
#include <vector>

int main() {
#ifdef SYNCOPATE_CONTROL
  std::vector<double> weights(3);
#else
  std::vector<int> weights(3);
#endif
  auto scheme = syncopate::synchronous_sgd(weights, syncopate::loopback{}, syncopate::sgd{});
}
