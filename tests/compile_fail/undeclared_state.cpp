// A predictor whose formula asks for a state vector that it does not declare.
// expect: syncopate: the averaging's predictor must be a GradientPredictor
#include <syncopate/syncopate.hpp>
#include <vector>

struct smoothing {
#ifdef SYNCOPATE_CONTROL
  static constexpr std::size_t state_vectors = 1;
#endif
  template <class T>
  constexpr T predict(const syncopate::landed<T>& m, T& smoothed) const {
    return smoothed += T(0.5) * (m.mean - smoothed);
  }
};

int main() {
  std::vector<float> weights(3);
  syncopate::update_scheme scheme{weights, syncopate::loopback{}, syncopate::fixed_delay{1},
                                  syncopate::gradient_averaging{smoothing{}, syncopate::sgd{}}};
}
