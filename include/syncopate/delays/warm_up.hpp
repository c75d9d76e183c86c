#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "../concepts.hpp"
#include "../detail/validate.hpp"

namespace syncopate {

/// The first `steps` steps are synchronous: a message leaves at each and is due at once. Afterwards `then` takes over,
/// with step numbers counted from there. OD-SGD's authors warm up for 200 steps [Xu et al. 2020]; over periodic
/// averaging this is post-local SGD [Lin et al. 2020].
template <DelayPolicy Then>
struct warm_up {
  std::int64_t steps = 0;
  Then then{};

  static constexpr bool launches_every_step = detail::declares_launches_every_step<Then>;
  static constexpr bool observes_gradients = detail::observes_gradients<Then>;

  constexpr bool launches(std::int64_t step) const { return step < steps || then.launches(step - steps); }
  constexpr bool due(std::int64_t launched, std::int64_t step) const {
    return launched < steps || then.due(launched - steps, step - steps);
  }
  constexpr std::int64_t most_in_flight() const { return then.most_in_flight(); }

  /// What `then` learns from is what follows the warm-up.
  void observe(training_signal signal) requires detail::adapts<Then> {
    signal.step -= steps;
    if (signal.step >= 0) then.observe(std::as_const(signal));
  }
  auto state() const requires detail::adapts<Then> { return then.state(); }
  void restore(const auto& state) requires detail::adapts<Then> { then.restore(state); }

  /// What `then` divides is warmed up fragment by fragment.
  std::size_t fragments() const requires detail::divides<Then> { return then.fragments(); }
  std::size_t fragment_of(std::size_t layer, std::size_t layers) const requires detail::divides<Then> {
    return then.fragment_of(layer, layers);
  }
  auto fragment(std::size_t number) const requires detail::divides<Then> {
    return warm_up<decltype(then.fragment(number))>{steps, then.fragment(number)};
  }

  /// Throws `configuration_error` unless steps ≥ 0, and what `then` throws.
  void validate() const {
    detail::require_at_least(steps, 0, "warm_up.steps");
    if constexpr (requires { then.validate(); }) then.validate();
  }
};

template <class Then>
warm_up(std::int64_t, Then) -> warm_up<Then>;

}  // namespace syncopate
