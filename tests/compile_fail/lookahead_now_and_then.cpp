// A look-ahead over messages that leave at every fourth step only: three of four gradients would not be foreseen.
// expect: syncopate: an averaging that looks ahead needs a delay policy that launches at every step
#include <syncopate/syncopate.hpp>
#include <vector>

int main() {
  std::vector<float> weights(3);
  syncopate::lookahead_averaging averaging{syncopate::local_gradient{}, syncopate::sgd{}};
#ifdef SYNCOPATE_CONTROL
  syncopate::update_scheme scheme{weights, syncopate::loopback{}, syncopate::fixed_delay{1}, averaging};
#else
  syncopate::update_scheme scheme{weights, syncopate::loopback{}, syncopate::periodic_delay{4, 1}, averaging};
#endif
}
