#pragma once

#include <array>
#include <cstdint>
#include <limits>

#include "../concepts.hpp"
#include "../detail/validate.hpp"
#include "../error.hpp"
#include "../training_signal.hpp"

namespace syncopate {

/// Lazy averaging (Lee et al., J. Parallel and Distributed Computing 159, 2022): gradients are added up for some steps,
/// and reduced, and the weights updated, at the last of them. The interval adapts. With f the latest gradient and G the
/// sum over the I steps of the interval, it becomes one step longer where both
///
/// - f does not point away from what was there before: ‖f − G‖² + ‖f‖² ≤ ‖G‖², and
/// - G is not shorter than I gradients as long as f that are orthogonal: I ‖f‖² ≤ ‖G‖²,
///
/// and one step shorter where neither is. Norms are means over ranks of each rank's own (this project's choice: they
/// travel with the message, and the reduction of f would be one more), and there is a longest interval.
///
/// For averagings that send gradients. The update is by the sum, so that a learning rate is worth as many steps: near
/// the largest one that is stable, only short intervals are.
struct lazy_delay {
  std::int64_t longest_interval = 4;
  std::int64_t interval = 1;  ///< steps from the newest message to the next one; adapts
  std::int64_t newest = -1;   ///< the step of the newest message

  static constexpr bool observes_gradients = true;

  constexpr bool launches(std::int64_t step) const { return step > newest && (step - newest) % interval == 0; }
  constexpr bool due(std::int64_t, std::int64_t) const { return true; }
  constexpr std::int64_t most_in_flight() const { return 0; }

  void observe(const training_signal& signal) {
    newest = signal.step;
    const double latest = signal.latest_squares, earlier = signal.earlier_squares, all = signal.mean_of_squares;
    if (!(latest > 0)) return;  // nobody had samples in the last step, as at the end of an epoch
    const bool angle = earlier + latest <= all, size = static_cast<double>(interval) * latest <= all;
    if (angle && size && interval < longest_interval) ++interval;
    if (!angle && !size && interval > 1) --interval;
  }

  std::array<std::int64_t, 2> state() const { return {interval, newest}; }
  void restore(const std::array<std::int64_t, 2>& state) {
    if (state[0] < 1 || state[0] > longest_interval || state[1] < -1)
      throw checkpoint_error("syncopate: the checkpoint is damaged: it holds no state of such a lazy_delay");
    interval = state[0];
    newest = state[1];
  }

  /// Throws `configuration_error` unless the longest interval is at least 1 and fits `landed::staleness`, and the
  /// interval is no longer.
  void validate() const {
    detail::require_between(longest_interval, 1, std::numeric_limits<decltype(landed<float>::staleness)>::max(),
                            "lazy_delay.longest_interval");
    detail::require_between(interval, 1, longest_interval, "lazy_delay.interval");
  }
};

}  // namespace syncopate
