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
  shuffled_share(std::size_t samples, std::size_t batch, int rank, int ranks, std::uint64_t seed)
      : order_(samples),
        batch_(batch),
        rank_(static_cast<std::size_t>(rank)),
        ranks_(static_cast<std::size_t>(ranks)),
        seed_(seed) {}

  std::size_t steps_per_epoch() const { return order_.size() / (batch_ * ranks_); }

  void shuffle(int epoch) {
    std::iota(order_.begin(), order_.end(), 0U);
    std::seed_seq sequence{static_cast<std::uint32_t>(seed_), static_cast<std::uint32_t>(seed_ >> 32U),
                           static_cast<std::uint32_t>(epoch)};
    std::mt19937_64 random(sequence);
    std::shuffle(order_.begin(), order_.end(), random);
  }

  /// The numbers of the samples in this rank's mini-batch.
  std::span<const std::uint32_t> samples(std::size_t step) const {
    return std::span(order_).subspan((step * ranks_ + rank_) * batch_, batch_);
  }

 private:
  std::vector<std::uint32_t> order_;
  std::size_t batch_, rank_, ranks_;
  std::uint64_t seed_;
};

}  // namespace fashion_mnist
