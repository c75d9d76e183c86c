// A column of a row-major matrix is not contiguous.
// expect: syncopate: weights must be a tensor
#include <syncopate/adaptors/xtensor.hpp>
#include <syncopate/syncopate.hpp>

#if __has_include(<xtensor/containers/xtensor.hpp>)  // since xtensor 0.26
#include <xtensor/containers/xtensor.hpp>
#include <xtensor/views/xview.hpp>
#else
#include <xtensor/xtensor.hpp>
#include <xtensor/xview.hpp>
#endif

int main() {
  xt::xtensor<float, 2> a({2, 3});
#ifdef SYNCOPATE_CONTROL
  auto scheme = syncopate::synchronous_sgd(a, syncopate::loopback{}, syncopate::sgd{});
#else
  auto scheme = syncopate::synchronous_sgd(xt::view(a, xt::all(), 1), syncopate::loopback{}, syncopate::sgd{});
#endif
}
