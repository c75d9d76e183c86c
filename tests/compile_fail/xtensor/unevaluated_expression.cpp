// An expression has no memory of its own that a mean could be written to.
// expect: syncopate: weights must be a tensor
#include <syncopate/adaptors/xtensor.hpp>
#include <syncopate/syncopate.hpp>

#if __has_include(<xtensor/containers/xtensor.hpp>)  // since xtensor 0.26
#include <xtensor/containers/xtensor.hpp>
#else
#include <xtensor/xtensor.hpp>
#endif

int main() {
  xt::xtensor<float, 2> a({2, 3}), b({2, 3});
#ifdef SYNCOPATE_CONTROL
  auto scheme = syncopate::synchronous_sgd(a, syncopate::loopback{}, syncopate::sgd{});
#else
  auto scheme = syncopate::synchronous_sgd(a + b, syncopate::loopback{}, syncopate::sgd{});
#endif
}
