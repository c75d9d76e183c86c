// Only floating-point elements can be trained.
// expect: constraints not satisfied|no matching function
// expect: Model
#include <string>
#include <syncopate/tensor.hpp>
#include <vector>

template <syncopate::Model Weights>
void train(Weights&);

int main() {
#ifdef SYNCOPATE_CONTROL
  std::vector<std::vector<double>> weights;
#else
  std::vector<std::string> weights;
#endif
  train(weights);
}
