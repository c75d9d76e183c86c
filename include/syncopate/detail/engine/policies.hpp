#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>

#include "../exchange/make_exchange.hpp"
#include "../sweep/hyperparameters.hpp"
#include "../sweep/roles.hpp"
#include "../sweep/sweep.hpp"

namespace syncopate::detail {

/// What the engine has to know of an averaging.
struct averaging_traits {
  bool ranks_differ = false;    ///< each rank has weights of its own
  bool predicts_ahead = false;  ///< the user's tensors hold predictions
  bool sharded = false;         ///< ranks share the work
  bool snapshot_first = false;  ///< a message that leaves when a mean is absorbed does not contain it
  bool mean_alone = true;       ///< nothing but the mean is kept and used
  bool own_local_rule = false;
  std::size_t element_bytes = 0;  ///< of the model's elements, or of the first type of these
};

/// An averaging with all its policies, of whichever type, and its hyper-parameters, which the program may change.
class policies {
 public:
  virtual ~policies() = default;
  virtual averaging_traits traits() const = 0;
  /// Throws the policies' own `configuration_error`.
  virtual void validate() const = 0;
  /// Means that become due from now on are absorbed by the hyper-parameters as they are.
  virtual void take_effect() = 0;
  /// A hash of the hyper-parameters' values.
  virtual std::uint64_t hyperparameters() = 0;
  /// The way of a bucket of one element type: the averaging's own `make_exchange`, if it has that, else the library's.
  virtual std::unique_ptr<exchange> make_exchange(std::size_t element_bytes, const cargo& what, wire& on,
                                                  measurement& measured) const = 0;
  /// The averaging's loops over such a bucket, with memory for what its policies keep.
  virtual std::unique_ptr<bucket> make_bucket(std::size_t element_bytes, const message_layout& layout,
                                              std::size_t slots) const = 0;
};

template <class A, class... T>
class policies_of final : public policies {
  template <class First, class...>
  struct first_of {
    using type = First;
  };
  using element = typename first_of<T...>::type;

 public:
  explicit policies_of(A averaging) : in_force_{averaging, averaging} {}

  /// As it is now, for the program to change.
  A& averaging() { return in_force_.now; }
  const A& averaging() const { return in_force_.now; }

  averaging_traits traits() const override {
    return {.ranks_differ = advances<A, element>,
            .predicts_ahead = looks_ahead<A, element>,
            .sharded = shards<A>,
            .snapshot_first = takes_snapshot_first<A>,
            .mean_alone = !advances<A, element> && !any_keeps_own<A> && !any_keeps_weights<A>,
            .own_local_rule = !std::same_as<local_rule_type<A>, absent>,
            .element_bytes = sizeof(element)};
  }
  void validate() const override {
    for_each_policy(in_force_.now, [](const auto& policy) { detail::validate(policy); });
  }
  void take_effect() override { in_force_.when_due = in_force_.now; }
  std::uint64_t hyperparameters() override { return hyperparameters_.of(in_force_.now); }

  std::unique_ptr<exchange> make_exchange(std::size_t element_bytes, const cargo& what, wire& on,
                                          measurement& measured) const override {
    if constexpr (requires { in_force_.now.make_exchange(element_bytes, what, on, measured); }) {
      return in_force_.now.make_exchange(element_bytes, what, on, measured);
    } else {
      std::unique_ptr<exchange> made;
      (void)((sizeof(T) == element_bytes && (made = detail::make_exchange<T, shards<A>>(what, on, measured))) || ...);
      return made;
    }
  }
  std::unique_ptr<bucket> make_bucket(std::size_t element_bytes, const message_layout& layout,
                                      std::size_t slots) const override {
    std::unique_ptr<bucket> made;
    (void)((sizeof(T) == element_bytes && (made = std::make_unique<sweep<T, A>>(in_force_, layout, slots))) || ...);
    return made;
  }

 private:
  averaging_in_force<A> in_force_;
  hyperparameter_hash<A, element> hyperparameters_;
};

}  // namespace syncopate::detail
