#pragma once

#include <cstdint>
#include <limits>

#include "../concepts.hpp"
#include "../detail/validate.hpp"

namespace syncopate {

/// A message leaves at every step and is absorbed `delay` steps later. Delay 0 is synchronous.
struct fixed_delay {
  std::int64_t delay = 1;

  static constexpr bool launches_every_step = true;

  constexpr bool launches(std::int64_t) const { return true; }
  constexpr bool due(std::int64_t launched, std::int64_t step) const { return step - launched >= delay; }
  constexpr std::int64_t most_in_flight() const { return delay; }

  /// Throws `configuration_error` unless the delay is at least 0 and fits `landed::staleness`.
  void validate() const {
    detail::require_between(delay, 0, std::numeric_limits<decltype(landed<float>::staleness)>::max(),
                            "fixed_delay.delay");
  }
};

}  // namespace syncopate
