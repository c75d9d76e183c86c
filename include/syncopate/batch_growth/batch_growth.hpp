#pragma once

#include <array>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "../detail/validate.hpp"
#include "../error.hpp"
#include "../training_signal.hpp"

namespace syncopate {

/// Decides when a batch grows, from numbers that are the same on all ranks; a plain struct.
///
/// - `static constexpr std::size_t state_numbers = N;` Numbers that `batch_growth` keeps for it, zero at the start.
/// - `bool grows(const training_signal&, std::array<double, N>& state) const`: is shown every mean once, in order.
/// - `void validate() const`: throws `configuration_error`.
template <class T>
concept GrowthTrigger = std::copyable<T> &&
    requires(const T& trigger, const training_signal& signal, std::array<double, T::state_numbers>& state) {
  { trigger.grows(signal, state) } -> std::same_as<bool>;
  trigger.validate();
};

/// How the learning rate follows the batch.
enum class rate_scaling {
  none,
  square_root,  ///< by √q where the batch has grown q times
  linear        ///< by q (Goyal et al., arXiv 1706.02677)
};

/// What a `batch_growth` does when its trigger fires.
struct batch_growth_options {
  double factor = 2;                 ///< by which the batch grows
  std::size_t largest_batch = 1024;  ///< of one rank
  rate_scaling scaling = rate_scaling::linear;
  double largest_rate_factor = std::numeric_limits<double>::infinity();
  std::int64_t ramp_steps = 0;  ///< over which the learning rate follows; 0: at once
};

/// A mini-batch that grows while training, and the learning rate with it (after Lee et al., IEEE BigData 2019, whose
/// schedule is not public: triggers, cap and ramp are this project's). Every rank has its own one, and all decide
/// alike, since they are shown the same numbers:
///
///     syncopate::batch_growth growth{32, syncopate::loss_plateau{}, {.largest_batch = 256}};
///     …
///     scheme.note_loss(loss);
///     scheme.step(weights, gradients, growth.batch());
///     growth.observe(scheme.signal());
///     scheme.rule().learning_rate = growth.rate_factor() * learning_rate;
///
/// Means stay weighted by sample counts, as `step` is told them.
template <GrowthTrigger Trigger>
class batch_growth {
 public:
  /// `batch`: samples in a rank's mini-batch at the start. Throws `configuration_error`.
  batch_growth(std::size_t batch, Trigger trigger, const batch_growth_options& options = {})
      : trigger_(std::move(trigger)), options_(options), batch_(batch), first_batch_(batch) {
    trigger_.validate();
    detail::require_at_least(batch, 1, "a batch_growth's first batch");
    detail::require_above(options.factor, 1, "batch_growth_options.factor");
    detail::require_at_least(options.largest_batch, batch, "batch_growth_options.largest_batch");
    detail::require_at_least(options.ramp_steps, 0, "batch_growth_options.ramp_steps");
    if (!(options.largest_rate_factor >= 1))
      throw configuration_error("syncopate: batch_growth_options.largest_rate_factor must be at least 1, but is " +
                                detail::text(options.largest_rate_factor));
  }

  /// Throws `configuration_error` where `ranks` of the largest batches are more than the data set has.
  void require_samples(std::size_t samples, int ranks) const {
    if (options_.largest_batch > samples / static_cast<std::size_t>(ranks))
      throw configuration_error("syncopate: the batch is to grow to " + std::to_string(options_.largest_batch) +
                                " samples on each of " + std::to_string(ranks) + " ranks, but there are only " +
                                std::to_string(samples));
  }

  /// Takes note of a mean, once, however often it is shown. Whether the batch has grown.
  bool observe(const training_signal& signal) {
    if (signal.step <= newest_step_) return false;
    newest_step_ = signal.step;
    if (batch_ == options_.largest_batch || !trigger_.grows(signal, trigger_state_)) return false;
    rate_before_ = rate_factor();
    grown_at_ = signal.step;
    const auto wanted = static_cast<std::size_t>(std::floor(options_.factor * static_cast<double>(batch_)));
    batch_ = wanted > batch_ ? wanted : batch_ + 1;
    if (batch_ > options_.largest_batch) batch_ = options_.largest_batch;
    return true;
  }

  /// Samples in a rank's next mini-batch.
  std::size_t batch() const { return batch_; }
  bool at_largest() const { return batch_ == options_.largest_batch; }

  /// By which the learning rate that belongs to the first batch is to be multiplied.
  double rate_factor() const {
    const double growth = static_cast<double>(batch_) / static_cast<double>(first_batch_);
    double wanted = options_.scaling == rate_scaling::linear        ? growth
                    : options_.scaling == rate_scaling::square_root ? std::sqrt(growth)
                                                                    : 1;
    if (wanted > options_.largest_rate_factor) wanted = options_.largest_rate_factor;
    const std::int64_t passed = newest_step_ - grown_at_;
    if (passed >= options_.ramp_steps) return wanted;
    return rate_before_ +
           (wanted - rate_before_) * static_cast<double>(passed) / static_cast<double>(options_.ramp_steps);
  }

  /// What is kept for the trigger.
  const std::array<double, Trigger::state_numbers>& trigger_state() const { return trigger_state_; }

  /// Everything that has changed since it was made, for checkpoints.
  std::vector<double> state() const {
    std::vector<double> all{static_cast<double>(batch_), static_cast<double>(newest_step_),
                            static_cast<double>(grown_at_), rate_before_};
    all.insert(all.end(), trigger_state_.begin(), trigger_state_.end());
    return all;
  }
  /// Throws `checkpoint_error` where that is no state of such a policy.
  void restore(const std::vector<double>& state) {
    if (state.size() != 4 + trigger_state_.size() || !(state[0] >= static_cast<double>(first_batch_)) ||
        !(state[0] <= static_cast<double>(options_.largest_batch)))
      throw checkpoint_error("syncopate: the checkpoint is damaged: it holds no state of such a batch_growth");
    batch_ = static_cast<std::size_t>(state[0]);
    newest_step_ = static_cast<std::int64_t>(state[1]);
    grown_at_ = static_cast<std::int64_t>(state[2]);
    rate_before_ = state[3];
    for (std::size_t i = 0; i < trigger_state_.size(); ++i) trigger_state_[i] = state[4 + i];
  }

 private:
  Trigger trigger_;
  std::array<double, Trigger::state_numbers> trigger_state_{};
  batch_growth_options options_;
  std::size_t batch_, first_batch_;
  std::int64_t newest_step_ = -1, grown_at_ = -(std::int64_t{1} << 50);
  double rate_before_ = 1;
};

}  // namespace syncopate
