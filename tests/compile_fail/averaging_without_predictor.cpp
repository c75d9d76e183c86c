// An averaging that calls a predictor it does not have.
// expect: syncopate: an averaging that calls with.predict needs a member named predictor
#include <syncopate/syncopate.hpp>
#include <vector>

struct plain_averaging {
#ifdef SYNCOPATE_CONTROL
  syncopate::no_prediction predictor;
#endif
  template <class T>
  constexpr T message(T, T gradient) const {
    return gradient;
  }
  template <class T>
  constexpr void absorb(T& weight, const syncopate::landed<T>& m, auto& with) const {
    weight -= with.predict(m);
  }
};

int main() {
  std::vector<float> weights(3), gradients(3);
  syncopate::update_scheme scheme{weights, syncopate::loopback{}, syncopate::fixed_delay{0}, plain_averaging{}};
  scheme.step(weights, gradients);
}
