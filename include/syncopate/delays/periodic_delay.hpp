#pragma once

#include <cstdint>
#include <limits>

#include "../concepts.hpp"
#include "../detail/validate.hpp"

namespace syncopate {

/// A message leaves at the last step of each period and is absorbed `delay` steps later. Delay 0 is local SGD's
/// schedule; a delay of a whole period keeps a message in flight all the time.
struct periodic_delay {
  std::int64_t period = 4;
  std::int64_t delay = 1;

  constexpr bool launches(std::int64_t step) const { return step % period == period - 1; }
  constexpr bool due(std::int64_t launched, std::int64_t step) const { return step - launched >= delay; }
  constexpr std::int64_t most_in_flight() const { return delay == 0 ? 0 : 1; }

  /// Throws `configuration_error` unless period ≥ 1 and 0 ≤ delay ≤ period: a message that comes home later than the
  /// next one leaves would have to be merged into weights that are on their way already.
  void validate() const {
    detail::require_between(period, 1, std::numeric_limits<decltype(landed<float>::staleness)>::max(),
                            "periodic_delay.period");
    detail::require_at_least(delay, 0, "periodic_delay.delay");
    if (delay > period)
      throw configuration_error("syncopate: periodic_delay.delay must not be longer than the period, but they are " +
                                detail::text(delay) + " and " + detail::text(period));
  }
};

}  // namespace syncopate
