// A block has the stride of the matrix around it.
// expect: syncopate: weights must be a tensor
#include <Eigen/Core>
#include <syncopate/adaptors/eigen.hpp>
#include <syncopate/syncopate.hpp>

int main() {
  Eigen::MatrixXf a(2, 3);
#ifdef SYNCOPATE_CONTROL
  auto scheme = syncopate::synchronous_sgd(a, syncopate::loopback{}, syncopate::sgd{});
#else
  auto scheme = syncopate::synchronous_sgd(a.block(0, 0, 1, 2), syncopate::loopback{}, syncopate::sgd{});
#endif
}
