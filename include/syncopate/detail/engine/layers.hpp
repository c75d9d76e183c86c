#pragma once

#include <cstddef>
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

  void add(std::size_t tensors);
  /// Throws `configuration_error`.
  void allow_to_miss(const std::vector<std::size_t>& numbers);
  /// Tells that a bucket holds these tensors. To be called for every bucket, in the order in which they leave.
  void add_bucket(const std::vector<std::size_t>& tensors);

  std::size_t size() const { return all_.size(); }
  const std::vector<layer>& all() const { return all_; }
  /// Throws `usage_error` for a layer that is not there.
  const layer& at(std::size_t number, const char* call) const;

  /// A step begins.
  void expect_gradients();
  /// Throws `usage_error` where a gradient cannot be one of this step.
  void check(std::size_t number) const;
  /// A gradient is there, or all of them are.
  void give(std::size_t number);
  void give_all();
  /// Whether a bucket has all its gradients.
  bool all_given() const { return not_given_ == 0; }
  bool is_ready(std::size_t bucket) const { return missing_[bucket] == 0; }
  /// Throws `usage_error` where a gradient is missing that is not optional.
  void check_complete() const;

  /// A step has ended: weights are up to date where nothing is to be waited for.
  void expect_forward();
  void make_current(std::size_t number) { all_[number].current = true; }
  void make_all_current();

 private:
  std::string counted() const { return std::to_string(all_.size()) + (all_.size() == 1 ? " layer" : " layers"); }
  /// By bisection: there may be thousands. Layers without a tensor come before the one that begins where they do.
  layer& that_has(std::size_t tensor);

  std::vector<layer> all_;
  std::size_t not_given_ = 0;           ///< layers without a gradient in this step
  std::vector<std::size_t> missing_;    ///< gradients that a bucket waits for
  std::vector<std::size_t> layers_in_;  ///< layers that have a tensor in a bucket
};

#if SYNCOPATE_BODIES

SYNCOPATE_FUNCTION void layers::add(std::size_t tensors) {
  layer& added = all_.emplace_back();
  if (all_.size() > 1) added.first = all_[all_.size() - 2].first + all_[all_.size() - 2].tensors;
  added.tensors = tensors;
}

SYNCOPATE_FUNCTION void layers::allow_to_miss(const std::vector<std::size_t>& numbers) {
  for (const std::size_t number : numbers) {
    if (number >= all_.size())
      throw configuration_error("syncopate: layer " + std::to_string(number) + " is to be optional, but there are " +
                                counted());
    all_[number].optional = true;
  }
}

SYNCOPATE_FUNCTION layers::layer& layers::that_has(std::size_t tensor) {
  std::size_t begin = 0, end = all_.size();
  while (end - begin > 1) {
    const std::size_t middle = begin + (end - begin) / 2;
    (all_[middle].first <= tensor ? begin : end) = middle;
  }
  return all_[begin];
}

SYNCOPATE_FUNCTION void layers::add_bucket(const std::vector<std::size_t>& tensors) {
  const std::size_t bucket = missing_.size();
  layers_in_.push_back(0);
  for (const std::size_t tensor : tensors) {
    layer& l = that_has(tensor);
    if (!l.buckets.empty() && l.buckets.back() == bucket) continue;
    l.buckets.push_back(bucket);
    ++layers_in_.back();
  }
  missing_.push_back(0);
}

SYNCOPATE_FUNCTION const layers::layer& layers::at(std::size_t number, const char* call) const {
  if (number >= all_.size())
    throw usage_error("syncopate: " + std::string(call) + " was called for layer " + std::to_string(number) +
                      ", but there are " + counted());
  return all_[number];
}

SYNCOPATE_FUNCTION void layers::expect_gradients() {
  for (layer& l : all_) l.given = false;
  not_given_ = all_.size();
  missing_ = layers_in_;
}

SYNCOPATE_FUNCTION void layers::check(std::size_t number) const {
  const layer& l = at(number, "gradient_ready");
  if (l.given)
    throw usage_error("syncopate: the gradient of layer " + std::to_string(number) + " was given twice in a step");
  if (!l.current)
    throw usage_error("syncopate: the gradient of layer " + std::to_string(number) +
                      " was computed at stale weights: before_forward was not called for it since the step before");
}

SYNCOPATE_FUNCTION void layers::give(std::size_t number) {
  all_[number].given = true;
  --not_given_;
  for (const std::size_t bucket : all_[number].buckets) --missing_[bucket];
}

SYNCOPATE_FUNCTION void layers::give_all() {
  for (layer& l : all_) l.given = true;
  not_given_ = 0;
  for (std::size_t& missing : missing_) missing = 0;
}

SYNCOPATE_FUNCTION void layers::check_complete() const {
  std::string missing;
  std::size_t count = 0;
  for (std::size_t number = 0; number < all_.size(); ++number)
    if (!all_[number].given && !all_[number].optional) missing += (count++ ? ", " : "") + std::to_string(number);
  if (count > 0)
    throw usage_error("syncopate: end_step was called without the gradient of " +
                      std::string(count > 1 ? "layers " : "layer ") + missing);
}

SYNCOPATE_FUNCTION void layers::expect_forward() {
  for (layer& l : all_) l.current = l.tensors == 0;
}

SYNCOPATE_FUNCTION void layers::make_all_current() {
  for (layer& l : all_) l.current = true;
}

#endif

}  // namespace syncopate::detail
