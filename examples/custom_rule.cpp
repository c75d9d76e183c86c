// An update rule of one formula: Adagrad (Duchi et al., JMLR 2011). Every scheme takes it; here it is look-ahead SGD,
// which applies the rule to means that have arrived and, on a copy, to the gradients that are still in flight.
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <syncopate/communicators/thread_team.hpp>
#include <syncopate/syncopate.hpp>
#include <vector>

struct adagrad {
  double learning_rate = 0.1;
  double epsilon = 1e-10;

  // The engine keeps one vector as large as the weights, zero at the start: the sum of squares so far.
  static constexpr std::size_t state_vectors = 1;

  template <class T>
  void apply(T& weight, T gradient, T& sum_of_squares) const {
    sum_of_squares += gradient * gradient;
    weight -= T(learning_rate) * gradient / (std::sqrt(sum_of_squares) + T(epsilon));
  }
};

int main() {
  // Two ranks minimise the mean of (w − 1)²/2 and (w − 3)²/2.
  double found = 0;
  syncopate::thread_team{2}.run([&](syncopate::thread_communicator communicator) {
    std::vector<double> weights(1000), gradients(1000);
    const double optimum = communicator.rank() == 0 ? 1 : 3;
    auto scheme = syncopate::lookahead_sgd(weights, communicator, adagrad{.learning_rate = 0.5});
    for (int step = 0; step < 500; ++step) {
      if (step == 400) scheme.rule().learning_rate = 0.25;  // hyper-parameters may change, on all ranks alike
      for (std::size_t i = 0; i < weights.size(); ++i) gradients[i] = weights[i] - optimum;
      scheme.step(weights, gradients);
    }
    scheme.finish(weights);
    if (communicator.rank() == 0) found = weights.back();
  });
  std::printf("minimum at %.6f\n", found);
  return std::abs(found - 2) < 1e-6 ? 0 : 1;
}
