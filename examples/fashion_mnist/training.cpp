#include "training.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <numbers>
#include <numeric>
#include <vector>

#include "network.hpp"
#include "progress_bar.hpp"
#include "shuffled_share.hpp"

namespace fashion_mnist {
namespace {

/// How many of this rank's share of the test set's images are classified rightly. Messages in flight progress
/// meanwhile.
std::size_t correct_in_share(const team& ranks, network<float>& net, const parameters<float>& weights,
                             const data_set& test, any_scheme& scheme) {
  const auto begin_of = [&](int rank) {
    return test.size() * static_cast<std::size_t>(rank) / static_cast<std::size_t>(ranks.size);
  };
  std::vector<std::uint32_t> samples(begin_of(ranks.rank + 1) - begin_of(ranks.rank));
  std::iota(samples.begin(), samples.end(), static_cast<std::uint32_t>(begin_of(ranks.rank)));
  std::size_t correct = 0;
  for (std::span<const std::uint32_t> rest = samples; !rest.empty();) {
    const std::size_t count = std::min(rest.size(), net.batch());
    net.load(test, rest.first(count));
    correct += net.correct(weights, count);
    scheme.poll();
    rest = rest.subspan(count);
  }
  return correct;
}

}  // namespace

result train(const options& job, const scheme_description& description, const team& ranks, any_scheme& scheme,
             parameters<float>& weights, const data_set& training, const data_set& test) {
  using clock = std::chrono::steady_clock;
  const auto seconds = [](auto duration) { return std::chrono::duration<double>(duration).count(); };

  result outcome;
  outcome.scheme = description.name;
  outcome.ranks = ranks.size;
  outcome.epochs = job.epochs;

  shuffled_share share(training.size(), job.batch, ranks.rank, ranks.size, job.seed);
  const std::size_t steps_per_epoch = share.steps_per_epoch();
  const std::size_t all_steps = steps_per_epoch * static_cast<std::size_t>(job.epochs);
  const auto learning_rate = [&](std::size_t step) {
    if (job.schedule == schedule::constant) return job.learning_rate;
    const double progress = static_cast<double>(step) / static_cast<double>(all_steps);
    return job.learning_rate * (1 + std::cos(std::numbers::pi * progress)) / 2;
  };

  network<float> net(job.batch);
  parameters<float> gradients = zero_parameters<float>(), consensus = zero_parameters<float>();
  progress_bar bar(ranks.rank == 0);
  std::size_t step = 0;
  double wall = 0;
  for (int epoch = 0; epoch < job.epochs; ++epoch) {
    share.shuffle(epoch);
    double loss = 0;
    ranks.sum({});  // all start together
    const auto begin = clock::now();
    for (std::size_t i = 0; i < steps_per_epoch; ++i, ++step) {
      net.load(training, share.samples(i));
      loss += net.loss_and_gradient(weights, gradients, [&] { scheme.poll(); });
      scheme.set_learning_rate(learning_rate(step));
      scheme.step(weights, gradients);
      bar.show(outcome.scheme, step + 1, all_steps);
    }
    wall += seconds(clock::now() - begin);

    scheme.consensus(weights, consensus);
    std::array sums{static_cast<double>(correct_in_share(ranks, net, consensus, test, scheme)), loss};
    ranks.sum(sums);
    outcome.test_accuracy.push_back(sums[0] / static_cast<double>(test.size()));
    outcome.train_loss.push_back(sums[1] / (static_cast<double>(steps_per_epoch) * ranks.size));
  }
  const auto measured = scheme.statistics();
  scheme.finish(weights);

  std::array means{wall, seconds(measured.communication), seconds(measured.exposed),
                   static_cast<double>(measured.bytes)};
  ranks.sum(means);
  for (double& mean : means) mean /= static_cast<double>(all_steps) * ranks.size;
  outcome.seconds_per_step = means[0];
  outcome.seconds_communication = means[1];
  outcome.seconds_exposed = means[2];
  outcome.seconds_compute = means[0] - means[2];
  if (means[1] > 0) outcome.hidden_fraction = 1 - means[2] / means[1];
  outcome.bytes_per_step = means[3];
  return outcome;
}

}  // namespace fashion_mnist
