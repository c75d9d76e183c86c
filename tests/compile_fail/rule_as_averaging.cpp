// A rule where an averaging is wanted.
// expect: syncopate: the fourth argument must be an Averaging
#include <syncopate/syncopate.hpp>
#include <vector>

int main() {
  std::vector<float> weights(3);
#ifdef SYNCOPATE_CONTROL
  syncopate::update_scheme scheme{weights, syncopate::loopback{}, syncopate::fixed_delay{0},
                                  syncopate::gradient_averaging{syncopate::no_prediction{}, syncopate::sgd{}}};
#else
  syncopate::update_scheme scheme{weights, syncopate::loopback{}, syncopate::fixed_delay{0}, syncopate::sgd{}};
#endif
}
