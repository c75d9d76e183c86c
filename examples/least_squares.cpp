// Least squares on four ranks, which here are threads of one process. While the sum of one gradient travels over the
// link, every rank computes the next one. The link is a model: it takes its time, so that hiding it can be seen.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <numeric>
#include <random>
#include <syncopate/communicators/thread_team.hpp>
#include <syncopate/syncopate.hpp>
#include <vector>

int main() {
  constexpr std::size_t features = 64, examples = 16384;  // examples per rank
  std::vector<float> truth(features), found;
  std::iota(truth.begin(), truth.end(), -32.f);
  double hidden = 0;

  const syncopate::thread_team team{4, syncopate::link_model{.gigabits_per_second = 1, .latency_microseconds = 100}};
  team.run([&](syncopate::thread_communicator communicator) {
    // This rank's share of the data: y = x · truth + noise.
    std::mt19937 random(static_cast<unsigned>(communicator.rank()));
    std::normal_distribution<float> normal;
    std::vector<float> x(examples * features), y(examples);
    for (float& value : x) value = normal(random);
    for (std::size_t i = 0; i < examples; ++i)
      y[i] = std::inner_product(truth.begin(), truth.end(), &x[i * features], 0.05f * normal(random));

    std::vector<float> weights(features), gradient(features);
    const syncopate::sgd rule{.learning_rate = 0.1, .momentum = 0.5};
    auto scheme = syncopate::lookahead_sgd(weights, communicator, rule);
    for (int step = 0; step < 100; ++step) {
      std::ranges::fill(gradient, 0.f);
      for (std::size_t i = 0; i < examples; ++i) {
        const float* const row = &x[i * features];
        const float residual = std::inner_product(weights.begin(), weights.end(), row, -y[i]);
        for (std::size_t j = 0; j < features; ++j) gradient[j] += residual * row[j] / float(examples);
      }
      scheme.step(weights, gradient);  // instead of "all-reduce the gradient, then update the weights"
    }
    scheme.finish(weights);  // lands what is in flight; from here on all ranks hold the same weights

    if (communicator.rank() == 0) {
      found = weights;
      hidden = scheme.statistics().hidden_fraction();
    }
  });

  float error = 0;
  for (std::size_t j = 0; j < features; ++j) error = std::max(error, std::abs(found[j] - truth[j]));
  std::printf("largest error of a weight: %.4f; communication hidden: %.0f %%\n", error, 100 * hidden);
  return error < 0.01f ? 0 : 1;
}
