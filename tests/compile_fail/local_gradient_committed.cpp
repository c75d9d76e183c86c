// A prediction that differs between ranks, committed to weights that must not.
// expect: syncopate: this predictor differs between ranks
#include <syncopate/syncopate.hpp>
#include <vector>

int main() {
  std::vector<float> weights(3);
#ifdef SYNCOPATE_CONTROL
  auto scheme = syncopate::lookahead_sgd(weights, syncopate::loopback{}, syncopate::sgd{}, syncopate::local_gradient{});
#else
  auto scheme =
      syncopate::pseudo_synchronous_sgd(weights, syncopate::loopback{}, syncopate::sgd{}, syncopate::local_gradient{});
#endif
}
