// A rule whose formula has another name.
// expect: syncopate: the averaging's rule must be an UpdateRule
#include <syncopate/syncopate.hpp>
#include <vector>

struct descent {
  template <class T>
#ifdef SYNCOPATE_CONTROL
  constexpr void apply(T& weight, T gradient) const {
    weight -= gradient;
  }
#else
  constexpr void update(T& weight, T gradient) const {
    weight -= gradient;
  }
#endif
};

int main() {
  std::vector<float> weights(3);
  auto scheme = syncopate::synchronous_sgd(weights, syncopate::loopback{}, descent{});
}
