#pragma once

#include <cstdint>

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

  static constexpr bool launches_every_step = [] {
    if constexpr (requires { Then::launches_every_step; })
      return bool{Then::launches_every_step};
    else
      return false;
  }();

  constexpr bool launches(std::int64_t step) const { return step < steps || then.launches(step - steps); }
  constexpr bool due(std::int64_t launched, std::int64_t step) const {
    return launched < steps || then.due(launched - steps, step - steps);
  }
  constexpr std::int64_t most_in_flight() const { return then.most_in_flight(); }

  /// Throws `configuration_error` unless steps ≥ 0, and what `then` throws.
  void validate() const {
    detail::require_at_least(steps, 0, "warm_up.steps");
    if constexpr (requires { then.validate(); }) then.validate();
  }
};

template <class Then>
warm_up(std::int64_t, Then) -> warm_up<Then>;

}  // namespace syncopate
