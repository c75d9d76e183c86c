// A predictor whose formula asks for a state vector that it does not declare.
// expect: constraints not satisfied|no matching function
// expect: GradientPredictor
#include <syncopate/concepts.hpp>

struct smoothing {
#ifdef SYNCOPATE_CONTROL
  static constexpr std::size_t state_vectors = 1;
#endif
  template <class T>
  constexpr T predict(const syncopate::landed<T>& m, T& smoothed) const {
    return smoothed += T(0.5) * (m.mean - smoothed);
  }
};

template <syncopate::GradientPredictor<float> Predictor>
void use(const Predictor&);

int main() { use(smoothing{}); }
