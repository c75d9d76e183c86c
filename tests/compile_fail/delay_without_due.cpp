// A delay policy that does not say when a message is due.
// expect: syncopate: the third argument must be a DelayPolicy
#include <cstdint>
#include <syncopate/syncopate.hpp>
#include <vector>

struct every_step {
  static constexpr bool launches_every_step = true;
  bool launches(std::int64_t) const { return true; }
#ifdef SYNCOPATE_CONTROL
  bool due(std::int64_t, std::int64_t) const { return true; }
#endif
  std::int64_t most_in_flight() const { return 0; }
};

int main() {
  std::vector<float> weights(3);
  syncopate::update_scheme scheme{weights, syncopate::loopback{}, every_step{},
                                  syncopate::gradient_averaging{syncopate::no_prediction{}, syncopate::sgd{}}};
}
