#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace fashion_mnist {

/// What training by one scheme gave. All times are seconds per step, means over ranks, steps and epochs, of
/// this run where training was resumed; evaluation and checkpoints are in none of them.
struct result {
  std::string scheme;
  int ranks = 0, epochs = 0;
  /// After each epoch: the share of test images that the consensus weights classify rightly.
  std::vector<double> test_accuracy;
  /// Of each epoch: the loss of a mini-batch at the weights that the scheme had left in place, mean over ranks and
  /// steps.
  std::vector<double> train_loss;
  /// Wall-clock time.
  double seconds_per_step = 0;
  /// The wall-clock time during which a rank did not wait for messages: loading the mini-batch, forward, backward, the
  /// scheme's arithmetic, and this rank's part of the sums where the communicator sums on the calling thread.
  double seconds_compute = 0;
  /// Time with at least one message in flight, as `syncopate::statistics` takes it; it includes waiting for slower
  /// ranks.
  double seconds_communication = 0;
  /// The part of it during which the rank was blocked.
  double seconds_exposed = 0;
  /// 1 - exposed / communication; nothing where nothing was communicated.
  std::optional<double> hidden_fraction;
  std::uint64_t steps = 0;  ///< that a rank made
  /// Where the batch grew: after how many steps, and to how many samples on each rank.
  std::vector<std::pair<std::uint64_t, std::size_t>> growth;
  /// How gradients travelled that were handed in as factors, by the number of their layer.
  std::vector<std::pair<std::size_t, std::string>> exchanges;
  /// A hash of the final weights' bits.
  std::string weights_checksum;
  /// Payload that a rank handed to sums.
  double bytes_per_step = 0;
};

}  // namespace fashion_mnist
