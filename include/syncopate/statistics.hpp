#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace syncopate {

/// What a transport has done on this rank.
struct communication_cost {
  /// Bytes that this rank sent: counted where the library itself sends; where something else does, the least that an
  /// all-reduce has to send.
  std::uint64_t bytes_sent = 0;
  /// Time of a processor that communication took, in the caller's thread or in another one.
  std::chrono::duration<double> processor_time{0};
};

/// What was measured of the messages of one bucket, that is, of tensors that travel together.
struct bucket_statistics {
  using seconds = std::chrono::duration<double>;
  using time_point = std::chrono::steady_clock::time_point;

  /// Payload of one message.
  std::size_t bytes = 0;
  /// Time from launch to landing, and what of it this rank was blocked; sums over all messages.
  seconds communication{0}, exposed{0};
  /// When the newest message that was absorbed left, when it landed, and since when it was waited for (when it was
  /// asked for, if it was there already).
  time_point launched{}, landed{}, awaited{};
};

/// What a scheme has measured on this rank since it was made.
struct statistics {
  using seconds = std::chrono::duration<double>;

  /// Calls of `step`.
  std::int64_t steps = 0;
  /// Messages that left, and those that were absorbed. `join` and `finish` send more, which do not count.
  std::int64_t launched = 0, absorbed = 0;
  /// Means that no rank absorbed since a contribution was not finite (`non_finite::skip`), at the same steps on all
  /// ranks; and local moves that this rank left out for that reason. What a loss scale is to be adapted to.
  std::int64_t skipped = 0;
  /// Payload that this rank handed to sums, in `join` and `finish` as well.
  std::uint64_t bytes = 0;
  /// Time during which at least one message was in flight: from its launch here until it landed. It includes waiting
  /// for slower ranks. Where the transport does not say when a sum landed, it is when the scheme noticed.
  seconds communication{0};
  /// The part of it during which this rank was blocked.
  seconds exposed{0};

  /// What the transport says it did for the messages, where it says so.
  communication_cost transport;
  /// Bucket by bucket, in the order in which they leave.
  std::vector<bucket_statistics> buckets;

  /// 1 − exposed / communication; 1 where nothing was communicated.
  double hidden_fraction() const { return communication.count() > 0 ? 1 - exposed / communication : 1; }
};

}  // namespace syncopate
