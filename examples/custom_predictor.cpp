// Two predictors of one formula each, used in pseudo-synchronous SGD. A formula says what happens to one parameter;
// the engine runs it over all of them, in one loop with the update rule. The page to read is syncopate/concepts.hpp.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <syncopate/communicators/thread_team.hpp>
#include <syncopate/syncopate.hpp>
#include <vector>

/// Trusts a mean gradient the less, the more steps ago its message left: ĝ = m / (1 + staleness).
struct staleness_scaling {
  template <class T>
  constexpr T predict(const syncopate::landed<T>& m) const {
    return m.mean / T(1 + m.staleness);
  }
};

/// Smooths the arrived means as Adam smooths gradients: s ← decay s + (1 − decay) m; ĝ = s / (1 − decayᵏ) after k
/// means.
struct unbiased_smoothing {
  double decay = 0.5;

  // The engine keeps one vector as large as the weights, zero at the start, and hands its elements to the formula.
  static constexpr std::size_t state_vectors = 1;

  // Called once per update, with the number of earlier ones: powers stay outside the loop.
  double prepare(std::int64_t count) const { return 1 - std::pow(decay, static_cast<double>(count + 1)); }

  template <class T>
  constexpr T predict(const syncopate::landed<T>& m, T& smoothed, const double& total) const {
    smoothed += T(1 - decay) * (m.mean - smoothed);
    return smoothed / T(total);
  }

  // Optional, checked when a scheme is made and at each step.
  void validate() const {
    if (!(decay >= 0 && decay < 1))
      throw syncopate::configuration_error("unbiased_smoothing.decay must be at least 0 and below 1");
  }
};

/// Two ranks minimise the mean of (w − 1)²/2 and (w − 3)²/2 and return w, which should be 2.
template <class Predictor>
double minimum(Predictor predictor) {
  double found = 0;
  syncopate::thread_team{2}.run([&](syncopate::thread_communicator communicator) {
    std::vector<double> weights(1000), gradients(1000);
    const double optimum = communicator.rank() == 0 ? 1 : 3;
    auto scheme =
        syncopate::pseudo_synchronous_sgd(weights, communicator, syncopate::sgd{.learning_rate = 0.2}, predictor);
    for (int step = 0; step < 300; ++step) {
      for (std::size_t i = 0; i < weights.size(); ++i) gradients[i] = weights[i] - optimum;
      scheme.step(weights, gradients);
    }
    scheme.finish(weights);
    if (communicator.rank() == 0) found = weights.back();
  });
  return found;
}

int main() {
  const double scaled = minimum(staleness_scaling{}), smoothed = minimum(unbiased_smoothing{.decay = 0.6});
  std::printf("staleness_scaling: %.9f, unbiased_smoothing: %.9f\n", scaled, smoothed);
  return std::abs(scaled - 2) < 1e-9 && std::abs(smoothed - 2) < 1e-9 ? 0 : 1;
}
