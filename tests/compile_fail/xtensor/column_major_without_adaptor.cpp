// A column-major container iterates in another order than its elements lie in memory.
// expect: syncopate: weights must be a tensor
#ifdef SYNCOPATE_CONTROL
#include <syncopate/adaptors/xtensor.hpp>
#endif
#include <syncopate/syncopate.hpp>

#if __has_include(<xtensor/containers/xtensor.hpp>)  // since xtensor 0.26
#include <xtensor/containers/xtensor.hpp>
#else
#include <xtensor/xtensor.hpp>
#endif

int main() {
  xt::xtensor<float, 2, xt::layout_type::column_major> a({2, 3});
  auto scheme = syncopate::synchronous_sgd(a, syncopate::loopback{}, syncopate::sgd{});
}
