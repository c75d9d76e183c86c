// A column of a row-major matrix is not contiguous.
// expect: constraints not satisfied|no matching function
// expect: Tensor|Model
#include <syncopate/adaptors/xtensor.hpp>

#if __has_include(<xtensor/containers/xtensor.hpp>)  // since xtensor 0.26
#include <xtensor/containers/xtensor.hpp>
#include <xtensor/views/xview.hpp>
#else
#include <xtensor/xtensor.hpp>
#include <xtensor/xview.hpp>
#endif

template <syncopate::Model Weights>
void train(Weights&&);

int main() {
  xt::xtensor<float, 2> a({2, 3});
#ifdef SYNCOPATE_CONTROL
  train(a);
#else
  train(xt::view(a, xt::all(), 1));
#endif
}
