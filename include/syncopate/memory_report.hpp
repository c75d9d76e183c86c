#pragma once

#include <cstddef>

namespace syncopate {

/// Bytes that a scheme keeps on this rank, besides the user's tensors.
struct memory_report {
  /// Messages, and what is kept with each until it is absorbed.
  std::size_t messages = 0;
  /// The true weights, where the averaging looks ahead.
  std::size_t weights = 0;
  /// State vectors of the policies.
  std::size_t predictor = 0, rule = 0, local_rule = 0, merge = 0;

  std::size_t state() const { return weights + predictor + rule + local_rule + merge; }
  std::size_t total() const { return messages + state(); }
};

}  // namespace syncopate
