// Delay and averaging in the wrong order.
// expect: syncopate: the third argument must be a DelayPolicy
#include <syncopate/syncopate.hpp>
#include <vector>

int main() {
  std::vector<float> weights(3);
  syncopate::fixed_delay delay{1};
  syncopate::gradient_averaging averaging{syncopate::no_prediction{}, syncopate::sgd{}};
#ifdef SYNCOPATE_CONTROL
  syncopate::update_scheme scheme{weights, syncopate::loopback{}, delay, averaging};
#else
  syncopate::update_scheme scheme{weights, syncopate::loopback{}, averaging, delay};
#endif
}
