// A local rule whose formula asks for a state vector that it does not declare.
// expect: syncopate: the averaging's local_rule must be an UpdateRule
#include <syncopate/syncopate.hpp>
#include <vector>

struct descent {
  template <class T>
#ifdef SYNCOPATE_CONTROL
  constexpr void apply(T& weight, T gradient) const {
    weight -= gradient;
  }
#else
  constexpr void apply(T& weight, T gradient, T& velocity) const {
    weight -= velocity += gradient;
  }
#endif
};

int main() {
  std::vector<float> weights(3);
  auto scheme = syncopate::od_sgd(weights, syncopate::loopback{}, syncopate::sgd{}, descent{});
}
