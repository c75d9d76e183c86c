// An expression has no memory of its own that a mean could be written to.
// expect: constraints not satisfied|no matching function
// expect: Tensor|Model
#include <syncopate/adaptors/xtensor.hpp>

#if __has_include(<xtensor/containers/xtensor.hpp>)  // since xtensor 0.26
#include <xtensor/containers/xtensor.hpp>
#else
#include <xtensor/xtensor.hpp>
#endif

template <syncopate::Model Weights>
void train(Weights&&);

int main() {
  xt::xtensor<float, 2> a({2, 3}), b({2, 3});
#ifdef SYNCOPATE_CONTROL
  train(a);
#else
  train(a + b);
#endif
}
