#pragma once

#include <cstdint>
#include <vector>

namespace fashion_mnist {

/// How far training has come; what a checkpoint holds besides the scheme and the weights.
struct progress {
  /// What the steps to come depend on, in the order of `training.cpp`: a checkpoint of another job is refused.
  std::vector<double> job;
  std::uint64_t step = 0;
  /// This rank's loss since the epoch began.
  double loss = 0;
  std::vector<double> test_accuracy, train_loss;  ///< of the epochs that are over
  std::uint64_t epoch = 0, position = 0;          ///< the epoch, and how many samples of it all ranks have been through
  std::uint64_t steps_in_epoch = 0;
  std::vector<double> growth;  ///< state of what lets the batch grow
};

}  // namespace fashion_mnist
