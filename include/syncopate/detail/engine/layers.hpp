#pragma once

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <span>
#include <string>
#include <vector>

#include "../../error.hpp"
#include "../bodies.hpp"

namespace syncopate::detail {

/// Which layers' gradients a step has been given, which layers' weights are up to date, and which buckets that makes
/// ready to leave. Knows of numbers only.
class layers {
 public:
  struct layer {
    std::size_t first = 0, tensors = 0;  ///< of the model, in its order
    bool optional = false;
    bool given = false;   ///< whether this step has its gradient
    bool current = true;  ///< whether its weights are those that the step is to be computed at
    std::vector<std::size_t> buckets{};
  };

  void add(std::size_t tensors) {
    const std::size_t first = all_.empty() ? 0 : all_.back().first + all_.back().tensors;
    all_.push_back({first, tensors});
  }

  /// Throws `configuration_error`.
  void allow_to_miss(std::span<const std::size_t> numbers) {
    for (const std::size_t number : numbers) {
      if (number >= all_.size())
        throw configuration_error("syncopate: layer " + std::to_string(number) + " is to be optional, but there are " +
                                  counted());
      all_[number].optional = true;
    }
  }

  /// Tells that a bucket holds these tensors. To be called for every bucket, in the order in which they leave.
  void add_bucket(std::span<const std::size_t> tensors) {
    const std::size_t bucket = missing_.size();
    layers_in_.push_back(0);
    for (const std::size_t tensor : tensors) {
      layer& l = *std::prev(std::ranges::upper_bound(all_, tensor, {}, &layer::first));  // empty ones come before
      if (!l.buckets.empty() && l.buckets.back() == bucket) continue;
      l.buckets.push_back(bucket);
      ++layers_in_.back();
    }
    missing_.push_back(0);
  }

  std::size_t size() const { return all_.size(); }
  std::span<const layer> all() const { return all_; }

  const layer& at(std::size_t number, const std::string& call) const {
    if (number >= all_.size())
      throw usage_error("syncopate: " + call + " was called for layer " + std::to_string(number) + ", but there are " +
                        counted());
    return all_[number];
  }

  /// A step begins.
  void expect_gradients() {
    for (layer& l : all_) l.given = false;
    missing_ = layers_in_;
  }

  /// Throws `usage_error` where a gradient cannot be one of this step.
  void check(std::size_t number) const {
    const layer& l = at(number, "gradient_ready");
    if (l.given)
      throw usage_error("syncopate: the gradient of layer " + std::to_string(number) + " was given twice in a step");
    if (!l.current)
      throw usage_error("syncopate: the gradient of layer " + std::to_string(number) +
                        " was computed at stale weights: before_forward was not called for it since the step before");
  }

  void give(std::size_t number) {
    all_[number].given = true;
    for (const std::size_t bucket : all_[number].buckets) --missing_[bucket];
  }

  void give_all() {
    for (layer& l : all_) l.given = true;
    std::ranges::fill(missing_, std::size_t{0});
  }

  bool is_ready(std::size_t bucket) const { return missing_[bucket] == 0; }

  /// Throws `usage_error` where a gradient is missing that is not optional.
  void check_complete() const {
    std::string missing;
    std::size_t count = 0;
    for (std::size_t number = 0; number < all_.size(); ++number)
      if (!all_[number].given && !all_[number].optional) missing += (count++ ? ", " : "") + std::to_string(number);
    if (count > 0)
      throw usage_error("syncopate: end_step was called without the gradient of " +
                        std::string(count > 1 ? "layers " : "layer ") + missing);
  }

  /// A step has ended: weights are up to date where nothing is to be waited for.
  void expect_forward() {
    for (layer& l : all_) l.current = l.tensors == 0;
  }
  void make_current(std::size_t number) { all_[number].current = true; }
  void make_all_current() {
    for (layer& l : all_) l.current = true;
  }

 private:
  std::string counted() const { return std::to_string(all_.size()) + (all_.size() == 1 ? " layer" : " layers"); }

  std::vector<layer> all_;
  std::vector<std::size_t> missing_;    ///< gradients that a bucket waits for
  std::vector<std::size_t> layers_in_;  ///< layers that have a tensor in a bucket
};

}  // namespace syncopate::detail
