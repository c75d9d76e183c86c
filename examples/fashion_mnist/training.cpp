#include "training.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <numbers>
#include <numeric>
#include <span>
#include <sstream>
#include <string>
#include <vector>

#include "growing_batch.hpp"
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
  bool takes_factors(std::size_t layer) {
    return std::ranges::any_of(scheme.exchanges, [=](const auto& exchange) { return exchange.first == layer; });
  }
  void factors_ready(std::size_t layer, std::span<const float> activations, std::span<const float> errors) {
    scheme.factors_ready(layer, activations, errors);
  }
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
  outcome.exchanges = scheme.exchanges;

  shuffled_share share(training.size(), ranks.rank, ranks.size, job.seed);
  growing_batch batch(job, training.size(), ranks.size);
  progress made;
  const auto epochs = static_cast<std::uint64_t>(job.epochs);
  const std::uint64_t samples_per_epoch = share.samples_per_epoch(job.batch);
  const auto samples_done = [&] { return made.epoch * samples_per_epoch + std::min(made.position, samples_per_epoch); };
  const auto learning_rate = [&] {
    const double rate = job.learning_rate * batch.rate_factor();
    if (job.schedule == schedule::constant) return rate;
    const double done = static_cast<double>(samples_done()) / static_cast<double>(epochs * samples_per_epoch);
    return rate * (1 + std::cos(std::numbers::pi * done)) / 2;
  };

  const std::vector<double> facts{static_cast<double>(job.seed),
                                  static_cast<double>(job.batch),
                                  job.learning_rate,
                                  job.momentum,
                                  static_cast<double>(job.epochs),
                                  static_cast<double>(training.size()),
                                  static_cast<double>(job.schedule),
                                  static_cast<double>(test.size()),
                                  static_cast<double>(job.grow_batch),
                                  static_cast<double>(job.largest_batch),
                                  static_cast<double>(job.network)};
  if (job.resume && scheme.load(*job.checkpoint, weights, made) && made.job != facts)
    throw syncopate::checkpoint_error("syncopate: the checkpoint " + job.checkpoint->string() +
                                      " belongs to a job with other options.");
  made.job = facts;
  if (!made.growth.empty()) batch.restore(made.growth);
  const auto checkpoint_steps = static_cast<std::uint64_t>(job.checkpoint_steps);  // 0: an epoch
  const auto save = [&] {
    made.growth = batch.state();
    scheme.save(*job.checkpoint, weights, made);
  };

  network<float> net(architecture_of(job), batch.size());
  parameters<float> gradients = zero_parameters<float>(architecture_of(job)), consensus = gradients;
  progress_bar bar(ranks.rank == 0);
  const std::uint64_t first_step = made.step;
  double wall = 0;
  while (made.epoch < epochs) {
    share.shuffle(static_cast<int>(made.epoch));
    ranks.sum({});  // all start together
    auto begin = clock::now();
    while (share.has(made.position, batch.size())) {
      scheme.set_learning_rate(learning_rate());
      net.load(training, share.next(made.position, batch.size()));
      // All ranks have as many samples: they need not be told apart, unless norms are compared.
      const std::size_t samples = batch.grows() ? batch.size() : 1;
      double loss = 0;
      if (description.by_layer) {
        scheme.begin_step(weights, samples);
        loss = net.loss_and_gradient(weights, gradients, layer_by_layer{scheme, gradients});
        scheme.note_loss(loss);
        scheme.end_step();
      } else {
        loss = net.loss_and_gradient(weights, gradients, polling{{}, scheme});
        scheme.note_loss(loss);
        scheme.step(weights, gradients, samples);
      }
      made.loss += loss;
      ++made.step;
      ++made.steps_in_epoch;
      if (batch.observe(scheme.signal())) {
        net = network<float>(architecture_of(job), batch.size());
        outcome.growth.push_back({made.step, batch.size()});
      }
      bar.show(outcome.scheme, samples_done(), epochs * samples_per_epoch);
      if (job.checkpoint && checkpoint_steps > 0 && made.step % checkpoint_steps == 0 &&
          share.has(made.position, batch.size())) {
        const auto saving = clock::now();
        save();
        begin += clock::now() - saving;
      }
    }
    wall += seconds(clock::now() - begin);

    scheme.consensus(weights, consensus);
    std::array sums{static_cast<double>(correct_in_share(ranks, net, consensus, test, scheme)), made.loss};
    ranks.sum(sums);
    made.test_accuracy.push_back(sums[0] / static_cast<double>(test.size()));
    made.train_loss.push_back(sums[1] / (static_cast<double>(made.steps_in_epoch) * ranks.size));
    made.loss = 0;
    made.position = made.steps_in_epoch = 0;
    ++made.epoch;
    const bool due = checkpoint_steps == 0 || made.step % checkpoint_steps == 0;
    if (job.checkpoint && due && made.epoch < epochs) save();
  }
  outcome.steps = made.step;
  outcome.test_accuracy = made.test_accuracy;
  outcome.train_loss = made.train_loss;
  const auto measured = scheme.statistics();
  scheme.finish(weights);
  outcome.weights_checksum = checksum_of(weights);

  std::array means{wall, seconds(measured.communication), seconds(measured.exposed),
                   static_cast<double>(measured.bytes)};
  ranks.sum(means);
  for (double& mean : means) mean /= static_cast<double>(made.step - first_step) * ranks.size;
  outcome.seconds_per_step = means[0];
  outcome.seconds_communication = means[1];
  outcome.seconds_exposed = means[2];
  outcome.seconds_compute = means[0] - means[2];
  if (means[1] > 0) outcome.hidden_fraction = 1 - means[2] / means[1];
  outcome.bytes_per_step = means[3];
  return outcome;
}

}  // namespace fashion_mnist
