// Ranks share the work of an averaging that moves each rank's weights.
// expect: syncopate: an averaging whose work ranks share can neither advance nor look ahead
#include <syncopate/syncopate.hpp>
#include <vector>

int main() {
  std::vector<float> weights(3);
#ifdef SYNCOPATE_CONTROL
  const syncopate::gradient_averaging averaging{syncopate::no_prediction{}, syncopate::sgd{}};
#else
  const syncopate::weight_averaging averaging{syncopate::blend{}, syncopate::sgd{}};
#endif
  syncopate::update_scheme scheme{weights, syncopate::loopback{}, syncopate::fixed_delay{0},
                                  syncopate::sharded_averaging{averaging}};
}
