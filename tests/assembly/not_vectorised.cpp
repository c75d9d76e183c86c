// A rule that cannot be vectorised: each element needs a call.
#include "shipped.hpp"

float opaque(float);

struct calling_rule {
  template <class T>
  void apply(T& weight, T gradient) const {
    weight -= T(0.1) * opaque(gradient);
  }
};

using namespace syncopate;

LOOPS_OF(float, gradient_averaging<no_prediction, calling_rule>);
