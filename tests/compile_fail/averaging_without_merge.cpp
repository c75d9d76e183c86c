// An averaging that calls a merge it does not have.
// expect: syncopate: an averaging that calls with.merge needs a member named merge
#include <syncopate/syncopate.hpp>
#include <vector>

struct plain_averaging {
#ifdef SYNCOPATE_CONTROL
  syncopate::replace merge;
#endif
  template <class T>
  constexpr T message(T, T gradient) const {
    return gradient;
  }
  template <class T>
  constexpr void absorb(T& weight, const syncopate::landed<T>& m, auto& with) const {
    with.merge(weight, m);
  }
};

int main() {
  std::vector<float> weights(3), gradients(3);
  syncopate::update_scheme scheme{weights, syncopate::loopback{}, syncopate::fixed_delay{0}, plain_averaging{}};
  scheme.step(weights, gradients);
}
