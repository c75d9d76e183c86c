#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "../detail/validate.hpp"
#include "../error.hpp"

namespace syncopate {

/// What a `faulty_communicator` does. The first two happen to sums of all ranks and spoil nothing; of the others one
/// happens, on one rank.
enum class planned_fault {
  none,
  slow,              ///< sums start late, say for a while that they are not complete, and make who waits wait longer
  reordered,         ///< sums say that they are not complete until later ones have said that they are
  dropped,           ///< the rank drops out: this call and all after it throw `planned_dropout`
  corrupted_header,  ///< a bit of one of the last elements of a message flips before the sum starts
  failed_start,      ///< a sum cannot be started: `communication_error`
  failed_test,       ///< a test of a sum throws `communication_error`
  failed_wait        ///< to wait for a sum throws `communication_error`
};

/// A fault that can be had again: everything about it follows from these numbers.
struct fault_plan {
  planned_fault fault = planned_fault::none;
  /// Of what is random: which sums are held up, and how long; which bit flips.
  std::uint64_t seed = 0;
  /// The rank that it happens to, and the number of its collective call from which on it happens at the first occasion.
  /// Sums, broadcasts and gathers count, from 0 on each channel.
  int rank = 0;
  std::int64_t operation = 0;
  /// Slow and reordered: the probability that a sum is held up.
  double probability = 0.5;
  /// Corrupted header: the number of elements at the end of a message of which one is altered. 0: those that
  /// `update_scheme` adds.
  std::size_t header_elements = 0;

  /// "rank 2 drops out from operation 17 on (seed 5)".
  std::string text() const {
    const std::string whose = "rank " + std::to_string(rank),
                      when = " from operation " + std::to_string(operation) + " on";
    const std::string some = " with probability " + detail::text(probability);
    const auto sentence = [&]() -> std::string {
      switch (fault) {
        case planned_fault::none:
          break;
        case planned_fault::slow:
          return "sums are slow" + some;
        case planned_fault::reordered:
          return "sums complete after later ones" + some;
        case planned_fault::dropped:
          return whose + " drops out" + when;
        case planned_fault::corrupted_header:
          return "a header of " + whose + " is corrupted" + when;
        case planned_fault::failed_start:
          return "a sum of " + whose + " fails to start" + when;
        case planned_fault::failed_test:
          return "a test of a sum fails on " + whose + when;
        case planned_fault::failed_wait:
          return "waiting for a sum fails on " + whose + when;
      }
      return "no fault";
    };
    return sentence() + " (seed " + std::to_string(seed) + ")";
  }

  /// Throws `configuration_error` for numbers below 0, or a probability that is none.
  void validate() const {
    detail::require_at_least(rank, 0, "fault_plan.rank");
    detail::require_at_least(operation, 0, "fault_plan.operation");
    detail::require_between(probability, 0, 1, "fault_plan.probability");
  }
};

/// What a rank that drops out as planned throws.
class planned_dropout : public error {
 public:
  using error::error;
};

}  // namespace syncopate
