// A merge of one formula. Each rank trains weights of its own; every fourth step a snapshot of them leaves to be
// averaged, and one step later the mean pulls the rank's weights towards it, as if by a spring.
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <syncopate/communicators/thread_team.hpp>
#include <syncopate/syncopate.hpp>
#include <vector>

/// w ← w + pull (mean − w): what elastic averaging does to a worker (Zhang et al., NeurIPS 2015), with the mean of all
/// ranks as the centre.
struct elastic {
  double pull = 0.5;

  template <class T>
  constexpr T merge(T weight, const syncopate::landed<T>& m) const {
    return weight + T(pull) * (m.mean - weight);
  }
};

int main() {
  // Two ranks minimise the mean of (w − 1)²/2 and (w − 3)²/2.
  double own[2], common[2];
  syncopate::thread_team{2}.run([&](syncopate::thread_communicator communicator) {
    std::vector<double> weights(1000), gradients(1000);
    const double optimum = communicator.rank() == 0 ? 1 : 3;
    syncopate::update_scheme scheme{weights, communicator, syncopate::periodic_delay{.period = 4, .delay = 1},
                                    syncopate::weight_averaging{elastic{}, syncopate::sgd{.learning_rate = 0.1}}};
    for (int step = 0; step < 400; ++step) {
      for (std::size_t i = 0; i < weights.size(); ++i) gradients[i] = weights[i] - optimum;
      scheme.step(weights, gradients);
    }
    own[communicator.rank()] = weights.back();
    scheme.finish(weights);  // the mean of the ranks' weights
    common[communicator.rank()] = weights.back();
  });
  std::printf("ranks' own weights: %.4f and %.4f, at the end both: %.9f\n", own[0], own[1], common[0]);
  const bool apart = own[0] < 2 && own[1] > 2;
  return apart && common[0] == common[1] && std::abs(common[0] - 2) < 1e-9 ? 0 : 1;
}
