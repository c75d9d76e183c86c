// A block has the stride of the matrix around it.
// expect: constraints not satisfied|no matching function
// expect: Tensor|Model
#include <Eigen/Core>
#include <syncopate/adaptors/eigen.hpp>

template <syncopate::Model Weights>
void train(Weights&&);

int main() {
  Eigen::MatrixXf a(2, 3);
#ifdef SYNCOPATE_CONTROL
  train(a);
#else
  train(a.block(0, 0, 1, 2));
#endif
}
