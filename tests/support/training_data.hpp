#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

namespace support {

/// A number in [0, 2³²) that depends on all arguments and on nothing else.
inline std::uint32_t scrambled(std::uint64_t a, std::uint64_t b, std::uint64_t c) {
  std::uint64_t x = (a + 1) * 0x9e3779b97f4a7c15u ^ (b + 1) * 0xbf58476d1ce4e5b9u ^ (c + 1) * 0x94d049bb133111ebu;
  for (int round = 0; round < 2; ++round) {
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x ^= x >> 27;
  }
  return static_cast<std::uint32_t>(x >> 32);
}

/// Sizes around the lengths of the engine's loops, 16 and 512.
inline const std::vector<std::size_t> awkward_sizes{0, 1, 15, 16, 17, 511, 512, 513, 1100, 0};

/// What a training run is fed with: weights to start from, and gradients that do not depend on the weights, so that
/// rounding errors do not feed back. All values are floats.
struct training_data {
  std::vector<std::size_t> sizes;                           ///< of the tensors
  std::vector<double> start;                                ///< all tensors, one after the other
  std::vector<double> samples;                              ///< of each rank
  std::vector<std::vector<std::vector<double>>> gradients;  ///< [rank][step]

  int ranks() const { return static_cast<int>(samples.size()); }
  int steps() const { return static_cast<int>(gradients[0].size()); }
  double total_samples() const { return std::accumulate(samples.begin(), samples.end(), 0.0); }

  /// Tensors as index ranges, or, with `length`, pieces of at most that length.
  std::vector<std::pair<std::size_t, std::size_t>> groups(std::size_t length = SIZE_MAX) const {
    std::vector<std::pair<std::size_t, std::size_t>> result;
    std::size_t first = 0;
    for (const std::size_t size : sizes) {
      for (std::size_t begin = 0; begin < size; begin += std::min(length, size - begin))
        result.emplace_back(first + begin, first + begin + std::min(length, size - begin));
      first += size;
    }
    return result;
  }
};

template <class Start, class Gradient>
training_data make_data(const std::vector<std::size_t>& sizes, int steps, const std::vector<double>& samples,
                        Start start, Gradient gradient) {
  training_data data{sizes, {}, samples, {}};
  const std::size_t total = std::accumulate(sizes.begin(), sizes.end(), std::size_t{0});
  for (std::size_t i = 0; i < total; ++i) data.start.push_back(start(i));
  data.gradients.resize(samples.size());
  for (std::size_t rank = 0; rank < samples.size(); ++rank)
    for (std::size_t step = 0; step < static_cast<std::size_t>(steps); ++step) {
      auto& values = data.gradients[rank].emplace_back();
      for (std::size_t i = 0; i < total; ++i) values.push_back(gradient(rank, step, i));
    }
  return data;
}

/// Equal samples on all ranks.
inline std::vector<double> even(int ranks) { return std::vector<double>(static_cast<std::size_t>(ranks), 1.0); }
/// 1, 2, 3, …: differs from rank to rank.
inline std::vector<double> uneven(int ranks) {
  std::vector<double> samples(static_cast<std::size_t>(ranks));
  std::iota(samples.begin(), samples.end(), 1.0);
  return samples;
}

/// Integers from −4 to 4 times the number of samples: means are integers, and a few steps with hyper-parameters that
/// are powers of two are exact even in float, in whatever order and with whatever contraction.
inline training_data exact_data(const std::vector<std::size_t>& sizes, int steps, const std::vector<double>& samples) {
  const double total = std::accumulate(samples.begin(), samples.end(), 0.0);
  return make_data(
      sizes, steps, samples, [](std::size_t i) { return (scrambled(7, 7, i) % 17 - 8.0) / 4; },
      [total](std::size_t rank, std::size_t step, std::size_t i) {
        return total * (scrambled(rank, step, i) % 9 - 4.0);
      });
}

/// Numbers in [−1, 1) with 20 bits.
inline training_data rough_data(const std::vector<std::size_t>& sizes, int steps, const std::vector<double>& samples) {
  const auto number = [](std::uint32_t bits) { return static_cast<double>(bits >> 12) / (1 << 19) - 1; };
  return make_data(
      sizes, steps, samples, [=](std::size_t i) { return number(scrambled(7, 7, i)); },
      [=](std::size_t rank, std::size_t step, std::size_t i) { return number(scrambled(rank, step, i)); });
}

}  // namespace support
