#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <random>
#include <span>
#include <vector>

namespace fashion_mnist {

/// One rank's share of each epoch's shuffled training set. All ranks shuffle alike, from seed and epoch, and cut the
/// result into global batches of ranks x batch samples, of which each rank takes its part. What remains at the end of
/// an epoch and does not fill a global batch is left out of that epoch.
class shuffled_share {
 public:
  shuffled_share(std::size_t samples, int rank, int ranks, std::uint64_t seed)
      : order_(samples), rank_(static_cast<std::size_t>(rank)), ranks_(static_cast<std::size_t>(ranks)), seed_(seed) {}

  /// Samples that all ranks together go through in an epoch of global batches that do not grow.
  std::size_t samples_per_epoch(std::size_t batch) const { return order_.size() / (batch * ranks_) * (batch * ranks_); }
  /// Whether there is another global batch after so many samples of the epoch.
  bool has(std::size_t position, std::size_t batch) const { return position + batch * ranks_ <= order_.size(); }

  void shuffle(int epoch) {
    std::iota(order_.begin(), order_.end(), 0U);
    std::seed_seq sequence{static_cast<std::uint32_t>(seed_), static_cast<std::uint32_t>(seed_ >> 32U),
                           static_cast<std::uint32_t>(epoch)};
    std::mt19937_64 random(sequence);
    std::shuffle(order_.begin(), order_.end(), random);
  }

  /// The numbers of the samples in this rank's part of the global batch that begins at `position`, which that advances.
  std::span<const std::uint32_t> next(std::uint64_t& position, std::size_t batch) const {
    const auto samples = std::span(order_).subspan(position + rank_ * batch, batch);
    position += ranks_ * batch;
    return samples;
  }

 private:
  std::vector<std::uint32_t> order_;
  std::size_t rank_, ranks_;
  std::uint64_t seed_;
};

}  // namespace fashion_mnist
