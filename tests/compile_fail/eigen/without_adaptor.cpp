// A matrix whose elements the library has not been told how to find.
// expect: syncopate: weights must be a tensor
#include <Eigen/Core>
#ifdef SYNCOPATE_CONTROL
#include <syncopate/adaptors/eigen.hpp>
#endif
#include <syncopate/syncopate.hpp>

int main() {
  Eigen::MatrixXf a(2, 3);
  auto scheme = syncopate::synchronous_sgd(a, syncopate::loopback{}, syncopate::sgd{});
}
