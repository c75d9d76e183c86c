#include "training.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <numbers>
#include <numeric>
#include <sstream>
#include <string>
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

/// Lets messages progress while the network computes.
struct polling : nobody {
  any_scheme& scheme;
  void poll() { scheme.poll(); }
};

/// Hands in each layer's gradient when it is there, and waits for each layer's weights when they are needed.
struct layer_by_layer {
  any_scheme& scheme;
  parameters<float>& gradients;
  void before_forward(std::size_t layer) { scheme.before_forward(layer); }
  void gradient_ready(std::size_t layer) { scheme.gradient_ready(layer, gradients); }
  void poll() { scheme.poll(); }
};

std::string checksum_of(const parameters<float>& weights) {
  std::uint64_t hash = 0;
  const auto add = [&](const auto& tensor) {
    for (const float element : tensor) hash = (hash ^ std::bit_cast<std::uint32_t>(element)) * 1099511628211u + 1;
  };
  for (const auto& [matrix, vector] : weights) {
    add(matrix);
    add(vector);
  }
  std::ostringstream text;
  text << std::hex << hash;
  return text.str();
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

  progress made;
  const std::vector<double> facts{static_cast<double>(job.seed),
                                  static_cast<double>(job.batch),
                                  job.learning_rate,
                                  job.momentum,
                                  static_cast<double>(job.epochs),
                                  static_cast<double>(training.size()),
                                  static_cast<double>(job.schedule),
                                  static_cast<double>(test.size())};
  if (job.resume && scheme.load(*job.checkpoint, weights, made) && made.job != facts)
    throw syncopate::checkpoint_error("syncopate: the checkpoint " + job.checkpoint->string() +
                                      " belongs to a job with other options.");
  made.job = facts;
  const auto checkpoint_steps =
      job.checkpoint_steps > 0 ? static_cast<std::size_t>(job.checkpoint_steps) : steps_per_epoch;

  network<float> net(job.batch);
  parameters<float> gradients = zero_parameters<float>(), consensus = zero_parameters<float>();
  progress_bar bar(ranks.rank == 0);
  const std::size_t first_step = made.step;
  std::size_t step = first_step;
  double wall = 0;
  while (step < all_steps) {
    share.shuffle(static_cast<int>(step / steps_per_epoch));
    ranks.sum({});  // all start together
    auto begin = clock::now();
    do {
      net.load(training, share.samples(step % steps_per_epoch));
      scheme.set_learning_rate(learning_rate(step));
      if (description.by_layer) {
        scheme.begin_step(weights);
        made.loss += net.loss_and_gradient(weights, gradients, layer_by_layer{scheme, gradients});
        scheme.end_step();
      } else {
        made.loss += net.loss_and_gradient(weights, gradients, polling{{}, scheme});
        scheme.step(weights, gradients);
      }
      made.step = ++step;
      bar.show(outcome.scheme, step, all_steps);
      if (job.checkpoint && step % checkpoint_steps == 0 && step % steps_per_epoch != 0) {
        const auto saving = clock::now();
        scheme.save(*job.checkpoint, weights, made);
        begin += clock::now() - saving;
      }
    } while (step % steps_per_epoch != 0);
    wall += seconds(clock::now() - begin);

    scheme.consensus(weights, consensus);
    std::array sums{static_cast<double>(correct_in_share(ranks, net, consensus, test, scheme)), made.loss};
    ranks.sum(sums);
    made.test_accuracy.push_back(sums[0] / static_cast<double>(test.size()));
    made.train_loss.push_back(sums[1] / (static_cast<double>(steps_per_epoch) * ranks.size));
    made.loss = 0;
    if (job.checkpoint && step % checkpoint_steps == 0 && step < all_steps) scheme.save(*job.checkpoint, weights, made);
  }
  outcome.test_accuracy = made.test_accuracy;
  outcome.train_loss = made.train_loss;
  const auto measured = scheme.statistics();
  scheme.finish(weights);
  outcome.weights_checksum = checksum_of(weights);

  std::array means{wall, seconds(measured.communication), seconds(measured.exposed),
                   static_cast<double>(measured.bytes)};
  ranks.sum(means);
  for (double& mean : means) mean /= static_cast<double>(all_steps - first_step) * ranks.size;
  outcome.seconds_per_step = means[0];
  outcome.seconds_communication = means[1];
  outcome.seconds_exposed = means[2];
  outcome.seconds_compute = means[0] - means[2];
  if (means[1] > 0) outcome.hidden_fraction = 1 - means[2] / means[1];
  outcome.bytes_per_step = means[3];
  return outcome;
}

}  // namespace fashion_mnist
