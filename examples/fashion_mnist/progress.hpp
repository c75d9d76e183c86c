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
};

}  // namespace fashion_mnist
