#pragma once

#include <chrono>
#include <cstdint>

namespace syncopate {

/// What a scheme has measured on this rank since it was made.
struct statistics {
  using seconds = std::chrono::duration<double>;

  /// Calls of `step`.
  std::int64_t steps = 0;
  /// Messages that left, and those whose mean was absorbed.
  std::int64_t launched = 0, absorbed = 0;
  /// Payload that this rank handed to sums.
  std::uint64_t bytes = 0;
  /// Time during which at least one message was in flight: from its launch here until it landed. It includes waiting
  /// for slower ranks. Where the transport does not say when a sum landed, it is when the scheme noticed.
  seconds communication{0};
  /// The part of it during which this rank was blocked.
  seconds exposed{0};

  /// 1 − exposed / communication; 1 where nothing was communicated.
  double hidden_fraction() const { return communication.count() > 0 ? 1 - exposed / communication : 1; }
};

}  // namespace syncopate
