#pragma once

#include <cstddef>
#include <cstdint>
#include <variant>
#include <vector>

#include "options.hpp"
#include "syncopate/batch_growth/batch_growth.hpp"
#include "syncopate/batch_growth/gradient_noise_scale.hpp"
#include "syncopate/batch_growth/loss_plateau.hpp"
#include "syncopate/batch_growth/milestones.hpp"

namespace fashion_mnist {

/// The job's mini-batch, which grows as the command line says, or does not.
class growing_batch {
 public:
  /// `samples`: of the training set, all of which a rank sees in each of `job.epochs`, together with the others.
  growing_batch(const options& job, std::size_t samples, int ranks) : batch_(job.batch) {
    const syncopate::batch_growth_options how{
        .largest_batch = job.largest_batch, .scaling = syncopate::rate_scaling::square_root, .ramp_steps = 50};
    const auto grow = [&](auto trigger) {
      const syncopate::batch_growth growth(job.batch, trigger, how);
      growth.require_samples(samples, ranks);
      policy_ = growth;
    };
    const auto steps = static_cast<std::int64_t>(samples / (job.batch * static_cast<std::size_t>(ranks))) * job.epochs;
    // Twice the batch needs half the steps: the second milestone is two thirds of the way in samples, too.
    if (job.grow_batch == growth::milestones) grow(syncopate::milestones{{steps / 3, steps / 2}});
    if (job.grow_batch == growth::plateau) grow(syncopate::loss_plateau{});
    if (job.grow_batch == growth::noise) grow(syncopate::gradient_noise_scale{});
  }

  bool grows() const { return policy_.index() > 0; }
  std::size_t size() const { return batch_; }
  double rate_factor() const { return factor_; }

  /// Takes note of what ranks know after a step. Whether the batch has grown.
  bool observe(const syncopate::training_signal& signal) {
    return visit([&](auto& policy) { return policy.observe(signal); });
  }
  std::vector<double> state() const {
    return std::visit(
        [](const auto& policy) {
          if constexpr (requires { policy.state(); })
            return policy.state();
          else
            return std::vector<double>();
        },
        policy_);
  }
  void restore(const std::vector<double>& state) {
    visit([&](auto& policy) {
      policy.restore(state);
      return true;
    });
  }

 private:
  template <class Work>
  bool visit(Work work) {
    return std::visit(
        [&](auto& policy) {
          if constexpr (requires { policy.batch(); }) {
            const bool grew = work(policy);
            batch_ = policy.batch();
            factor_ = policy.rate_factor();
            return grew;
          }
          return false;
        },
        policy_);
  }

  std::size_t batch_;
  double factor_ = 1;
  std::variant<std::monostate, syncopate::batch_growth<syncopate::milestones>,
               syncopate::batch_growth<syncopate::loss_plateau>,
               syncopate::batch_growth<syncopate::gradient_noise_scale>>
      policy_;
};

}  // namespace fashion_mnist
