// A product that has not been computed has no elements in memory.
// expect: syncopate: gradients must be a tensor
#include <Eigen/Core>
#include <syncopate/adaptors/eigen.hpp>
#include <syncopate/syncopate.hpp>

int main() {
  Eigen::MatrixXf a(2, 2), b(2, 2);
  auto scheme = syncopate::synchronous_sgd(a, syncopate::loopback{}, syncopate::sgd{});
#ifdef SYNCOPATE_CONTROL
  const Eigen::MatrixXf gradient = a * b;
#else
  const auto gradient = a * b;
#endif
  scheme.step(a, gradient);
}
