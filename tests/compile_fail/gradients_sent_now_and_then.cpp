// Gradients that are averaged at every fourth step only: three of four would be lost.
// expect: syncopate: an averaging of gradients needs a delay policy that launches at every step
#include <syncopate/syncopate.hpp>
#include <vector>

int main() {
  std::vector<float> weights(3);
  syncopate::gradient_averaging averaging{syncopate::no_prediction{}, syncopate::sgd{}};
#ifdef SYNCOPATE_CONTROL
  syncopate::update_scheme scheme{weights, syncopate::loopback{}, syncopate::fixed_delay{1}, averaging};
#else
  syncopate::update_scheme scheme{weights, syncopate::loopback{}, syncopate::periodic_delay{4, 1}, averaging};
#endif
}
