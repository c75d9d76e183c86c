#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include "../../concepts.hpp"
#include "../../training_signal.hpp"
#include "../bodies.hpp"
#include "../elements/mix.hpp"
#include "../elements/state_visitor.hpp"
#include "../sweep/roles.hpp"

namespace syncopate::detail {

/// When messages leave and are due, of whichever delay policy.
class schedule {
 public:
  virtual ~schedule() = default;
  /// As the delay policy says; see `DelayPolicy`.
  virtual bool launches(std::int64_t step) const = 0;
  virtual bool due(std::int64_t launched, std::int64_t step) const = 0;
  virtual std::int64_t most_in_flight() const = 0;
  virtual void validate() const = 0;
  /// Is shown the newest mean, if it learns from means.
  virtual void observe(const training_signal& signal) = 0;
  virtual void serialise(state_visitor& visitor) = 0;

  /// A hash of what it decides in its first few thousand steps. Ranks that decided differently would wait for messages
  /// that nobody sent, and a delay policy need not be comparable.
  std::uint64_t decisions() const;
};

template <class D>
class schedule_of final : public schedule {
 public:
  explicit schedule_of(D policy) : delay_(std::move(policy)) {}

  bool launches(std::int64_t step) const override { return delay_.launches(step); }
  bool due(std::int64_t launched, std::int64_t step) const override { return delay_.due(launched, step); }
  std::int64_t most_in_flight() const override { return delay_.most_in_flight(); }
  void validate() const override { detail::validate(delay_); }
  void observe([[maybe_unused]] const training_signal& signal) override {
    if constexpr (adapts<D>) delay_.observe(signal);
  }
  void serialise([[maybe_unused]] state_visitor& visitor) override {
    if constexpr (adapts<D>) {
      auto state = delay_.state();
      for (auto& number : state) {
        using carrier = std::conditional_t<std::is_floating_point_v<std::remove_reference_t<decltype(number)>>, double,
                                           std::int64_t>;
        visitor.template as<carrier>(number);
      }
      if (visitor.reads()) delay_.restore(state);
    }
  }

 private:
  D delay_;
};

/// The schedules of a delay policy: one for the whole model, or one for each fragment of it.
class schedules {
 public:
  virtual ~schedules() = default;
  virtual std::size_t fragments() const = 0;
  /// Which one a layer belongs to, of so many.
  virtual std::size_t fragment_of(std::size_t layer, std::size_t layers) const = 0;
  /// Precondition: the delay policy is valid.
  virtual schedule& of(std::size_t fragment) = 0;
  virtual void validate() const = 0;
  /// As the delay policy declares: whether it learns from means, asks for norms of gradients, launches at every step.
  virtual bool adapts() const = 0;
  virtual bool observes_gradients() const = 0;
  virtual bool launches_every_step() const = 0;
};

template <class D>
class schedules_of final : public schedules {
 public:
  explicit schedules_of(D policy) : one_(std::move(policy)) {}

  std::size_t fragments() const override { return 1; }
  std::size_t fragment_of(std::size_t, std::size_t) const override { return 0; }
  schedule& of(std::size_t) override { return one_; }
  void validate() const override { one_.validate(); }
  bool adapts() const override { return detail::adapts<D>; }
  bool observes_gradients() const override { return detail::observes_gradients<D>; }
  bool launches_every_step() const override { return declares_launches_every_step<D>; }

 private:
  schedule_of<D> one_;
};

/// Of a delay policy that divides layers into fragments, each with a schedule of its own.
template <divides D>
class schedules_of<D> final : public schedules {
  using fragment_delay = decltype(std::declval<const D&>().fragment(std::size_t{}));

 public:
  explicit schedules_of(D policy) : delay_(std::move(policy)) {}

  std::size_t fragments() const override { return delay_.fragments(); }
  std::size_t fragment_of(std::size_t layer, std::size_t layers) const override {
    return delay_.fragment_of(layer, layers);
  }
  schedule& of(std::size_t fragment) override {
    for (std::size_t number = made_.size(); number <= fragment; ++number)
      made_.push_back(std::make_unique<schedule_of<fragment_delay>>(delay_.fragment(number)));
    return *made_[fragment];
  }
  void validate() const override {
    detail::validate(delay_);
    for (std::size_t number = 0; number < fragments(); ++number) detail::validate(delay_.fragment(number));
  }
  bool adapts() const override { return detail::adapts<fragment_delay>; }
  bool observes_gradients() const override { return detail::observes_gradients<fragment_delay>; }
  bool launches_every_step() const override { return declares_launches_every_step<fragment_delay>; }

 private:
  D delay_;
  std::vector<std::unique_ptr<schedule>> made_;
};

#if SYNCOPATE_BODIES

SYNCOPATE_FUNCTION std::uint64_t schedule::decisions() const {
  constexpr std::int64_t steps = 4096;
  std::vector<std::int64_t> launched_at;
  std::uint64_t hash = 0;
  std::size_t absorbed = 0;
  for (std::int64_t step = 0; step < steps; ++step) {
    const bool leaves = launches(step);
    if (leaves) launched_at.push_back(step);
    hash = mix(hash, std::uint64_t{leaves});
    for (; absorbed < launched_at.size() && due(launched_at[absorbed], step); ++absorbed)
      hash = mix(hash, std::uint64_t{2});
  }
  return hash;
}

#endif

}  // namespace syncopate::detail
