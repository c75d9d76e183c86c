// A predictor as a user writes it, with a branch as a conditional expression, and one that asks for the staleness.
#include "shipped.hpp"

struct sign_agreement {
  double gain = 0.1;
  static constexpr std::size_t state_vectors = 1;

  template <class T>
  constexpr T predict(const syncopate::landed<T>& m, T& history) const {
    history += T(gain) * (m.mean - history);
    const T half = T(0.5) * m.mean;
    return half + (m.mean * history > T(0) ? half : T(0));
  }
};

struct trust_in_fresh_means {
  template <class T>
  constexpr T predict(const syncopate::landed<T>& m) const {
    return m.staleness > 0 ? m.mean / T(1 + m.staleness) : m.mean;
  }
};

using namespace syncopate;

LOOPS_OF(float, gradient_averaging<sign_agreement, sgd>);
LOOPS_OF(float, gradient_averaging<trust_in_fresh_means, sgd>);
