// A predictor that returns double, whatever the element type.
// expect: syncopate: the averaging's predictor must be a GradientPredictor
#include <syncopate/syncopate.hpp>
#include <vector>

struct half {
  template <class T>
#ifdef SYNCOPATE_CONTROL
  constexpr T predict(const syncopate::landed<T>& m) const {
    return m.mean / 2;
  }
#else
  constexpr double predict(const syncopate::landed<T>& m) const {
    return m.mean / 2;
  }
#endif
};

int main() {
  std::vector<float> weights(3);
  syncopate::update_scheme scheme{weights, syncopate::loopback{}, syncopate::fixed_delay{1},
                                  syncopate::gradient_averaging{half{}, syncopate::sgd{}}};
}
