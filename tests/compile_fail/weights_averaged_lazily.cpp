// A delay policy that learns from gradients, where weights travel.
// expect: syncopate: this delay policy learns from gradients, so it needs an averaging that sends gradients
#include <syncopate/syncopate.hpp>
#include <vector>

int main() {
  std::vector<float> weights(3);
#ifdef SYNCOPATE_CONTROL
  const syncopate::gradient_averaging averaging{syncopate::no_prediction{}, syncopate::sgd{}};
#else
  const syncopate::weight_averaging averaging{syncopate::blend{}, syncopate::sgd{}};
#endif
  syncopate::update_scheme scheme{weights, syncopate::loopback{}, syncopate::lazy_delay{}, averaging};
}
