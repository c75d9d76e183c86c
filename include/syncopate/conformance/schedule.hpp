#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "../conformance_report.hpp"
#include "../detail/sweep/roles.hpp"
#include "../training_signal.hpp"
#include "training.hpp"

/// The laws of a delay policy.
namespace syncopate::detail::conformance {

/// What a delay policy decides in its first steps.
struct schedule {
  std::vector<std::int64_t> launched;  ///< the steps at which messages leave
  std::vector<std::vector<bool>> due;  ///< of each message, at the step at which it leaves and those after it

  friend bool operator==(const schedule&, const schedule&) = default;
};

inline constexpr std::int64_t scheduled_steps = 600;

/// Asks in the order of steps, or against it.
template <class D>
schedule schedule_of(const D& delay, bool backwards) {
  const auto nth = [&](std::int64_t n, std::int64_t count) { return backwards ? count - 1 - n : n; };
  std::vector<bool> launches(scheduled_steps);
  for (std::int64_t n = 0; n < scheduled_steps; ++n) {
    const std::int64_t step = nth(n, scheduled_steps);
    launches[static_cast<std::size_t>(step)] = delay.launches(step);
  }
  schedule result;
  for (std::int64_t step = 0; step < scheduled_steps; ++step)
    if (launches[static_cast<std::size_t>(step)]) result.launched.push_back(step);
  for (const std::int64_t launched : result.launched) {
    auto& due = result.due.emplace_back(static_cast<std::size_t>(scheduled_steps - launched));
    for (std::int64_t n = 0; n < std::ssize(due); ++n) {
      const std::int64_t later = nth(n, std::ssize(due));
      due[static_cast<std::size_t>(later)] = delay.due(launched, launched + later);
    }
  }
  return result;
}

inline std::string message_of(std::int64_t step) { return "the message of step " + std::to_string(step); }

inline std::string not_remaining(const schedule& s) {
  for (std::size_t m = 0; m < s.launched.size(); ++m)
    for (std::size_t later = 0; later + 1 < s.due[m].size(); ++later)
      if (s.due[m][later] && !s.due[m][later + 1]) {
        const std::int64_t step = s.launched[m] + static_cast<std::int64_t>(later);
        return message_of(s.launched[m]) + " is due at step " + std::to_string(step) + ", but not at step " +
               std::to_string(step + 1);
      }
  return {};
}

inline std::string out_of_order(const schedule& s) {
  for (std::size_t m = 0; m + 1 < s.launched.size(); ++m) {
    const auto apart = static_cast<std::size_t>(s.launched[m + 1] - s.launched[m]);
    for (std::size_t later = 0; later < s.due[m + 1].size(); ++later)
      if (s.due[m + 1][later] && !s.due[m][later + apart])
        return message_of(s.launched[m + 1]) + " is due at step " +
               std::to_string(s.launched[m + 1] + static_cast<std::int64_t>(later)) + ", but " +
               message_of(s.launched[m]) + " is not";
  }
  return {};
}

inline std::string too_many_in_flight(const schedule& s, std::int64_t most) {
  if (most < 0 || most > (1 << 16)) return "it says " + std::to_string(most) + ", but only 0 to 65536 are possible";
  std::size_t launched = 0, absorbed = 0;
  for (std::int64_t step = 0; step < scheduled_steps; ++step) {
    if (launched < s.launched.size() && s.launched[launched] == step) ++launched;
    while (absorbed < launched && s.due[absorbed][static_cast<std::size_t>(step - s.launched[absorbed])]) ++absorbed;
    if (const auto in_flight = static_cast<std::int64_t>(launched - absorbed); in_flight > most)
      return "after step " + std::to_string(step) + " there are " + std::to_string(in_flight) + ", but it says " +
             std::to_string(most);
  }
  return {};
}

inline std::string not_launching(const schedule& s) {
  for (std::int64_t step = 0; step < scheduled_steps; ++step)
    if (step == std::ssize(s.launched) || s.launched[static_cast<std::size_t>(step)] != step)
      return "no message leaves at step " + std::to_string(step);
  return {};
}

/// Shows a delay policy means that are as different as they can be, one for each message that leaves.
template <class D>
D after_learning(D delay, std::int64_t steps) {
  for (std::int64_t step = 0; step < steps; ++step) {
    if (!delay.launches(step)) continue;
    const auto part = [&](std::int64_t of) { return static_cast<double>((step * 7 + of) % 11 + 1); };
    const training_signal signal{.step = step,
                                 .samples = 8,
                                 .ranks = 2,
                                 .loss = part(1),
                                 .square_of_mean = part(2),
                                 .mean_of_squares = part(3) + part(2),
                                 .latest_squares = part(4),
                                 .earlier_squares = part(5)};
    delay.observe(signal);
  }
  return delay;
}

template <class D>
void check_delay(conformance_report& report, const D& delay) {
  using law = conformance_law;
  detail::validate(delay);
  const schedule decided = schedule_of(delay, false);
  report.note(law::reproducible,
              schedule_of(D(delay), true) == decided ? "" : "asked in another order, it decides differently");
  report.note(law::due_remains, not_remaining(decided));
  report.note(law::due_in_order, out_of_order(decided));
  report.note(law::most_in_flight, too_many_in_flight(decided, delay.most_in_flight()));
  if constexpr (requires { requires D::launches_every_step; })
    report.note(law::launches_every_step, not_launching(decided));
  if constexpr (adapts<D>)
    for (const std::int64_t steps : {0, 1, 2, 5, 40}) {
      const D learnt = after_learning(delay, steps);
      D restored = delay;
      restored.restore(learnt.state());
      report.note(law::resumed,
                  schedule_of(restored, false) == schedule_of(learnt, false)
                      ? ""
                      : "after " + std::to_string(steps) + " steps, restored from its state, it decides differently");
    }
}

}  // namespace syncopate::detail::conformance
