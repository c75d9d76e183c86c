// Ranks with different numbers of mini-batches, under every scheme.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cstddef>
#include <limits>
#include <utility>
#include <vector>

#include "../support/every_scheme.hpp"
#include "../support/training.hpp"

namespace {

using namespace support;

constexpr int epochs = 2;

/// Of a rank, in an epoch: 10, 11, 9, 10, …
int steps_of(int rank, int epoch) {
  const int steps[] = {10, 11, 9};
  return steps[(rank + epoch) % 3];
}
int longest_of(int ranks, int epoch) {
  int longest = 0;
  for (int rank = 0; rank < ranks; ++rank) longest = std::max(longest, steps_of(rank, epoch));
  return longest;
}

/// Weights after `join`, at the end of each epoch, and after `finish`. Where `ranks_join`, ranks that have run out do;
/// else they go on with no samples and a gradient that must not be looked at, until all have run out.
template <class T>
std::vector<record> run(const rank_group& ranks, const training_data& data, const maker<model<T>>& make,
                        bool ranks_join) {
  return ranks.run([&](any_communicator communicator) {
    const int rank = communicator.rank(), size = communicator.size();
    model<T> weights = model_of<T>(data, data.start), nothing = weights;
    for (auto& tensor : nothing) std::fill(tensor.begin(), tensor.end(), std::numeric_limits<T>::quiet_NaN());
    record noted;
    auto scheme = make(weights, std::move(communicator));
    for (int epoch = 0; epoch < epochs; ++epoch) {
      const int own = steps_of(rank, epoch), all = ranks_join ? own : longest_of(size, epoch);
      for (int step = 0; step < all; ++step)
        if (step < own)
          scheme.step(
              weights,
              model_of<T>(data, data.gradients[static_cast<std::size_t>(rank)][static_cast<std::size_t>(step)]));
        else
          scheme.step(weights, nothing, 0);
      if (epoch == epochs - 1) break;  // finish joins
      scheme.join(weights);
      append(noted, weights);
    }
    scheme.finish(weights);
    append(noted, weights);
    const auto taken = scheme.statistics();
    noted.push_back(static_cast<double>(taken.launched - taken.absorbed));
    return noted;
  });
}

TEMPLATE_TEST_CASE("A rank that has run out joins with weight zero", "[laws][join]", float, double) {
  for (const rank_group& ranks : every_communicator()) {
    const auto data = rough_data({0, 1, 17, 513}, 11, even(ranks.size));
    for (const auto& [name, make] : every_scheme<model<TestType>>()) {
      INFO(ranks.name << ", " << name);
      const auto got = run<TestType>(ranks, data, make, true), expected = run<TestType>(ranks, data, make, false);
      for (std::size_t rank = 0; rank < got.size(); ++rank) {
        CHECK(distance(got[rank], expected[rank]) == 0);  // no NaN either
        CHECK(same_bits(got[rank], expected[rank]));
        CHECK(got[rank].back() == 0);
        const std::size_t model_size = data.start.size();
        CHECK(std::equal(got[rank].end() - 1 - static_cast<std::ptrdiff_t>(model_size), got[rank].end() - 1,
                         got[0].end() - 1 - static_cast<std::ptrdiff_t>(model_size)));
      }
    }
  }
}

TEST_CASE("An empty model ends on all ranks as well", "[laws][join]") {
  using W = model<float>;
  for (const rank_group& ranks : every_communicator())
    for (const auto& [name, make] : every_scheme<W>()) {
      INFO(ranks.name << ", " << name);
      const auto steps = ranks.run([&, make = make](any_communicator communicator) {
        W weights;
        const int own = 3 + communicator.rank();
        auto scheme = make(weights, std::move(communicator));
        for (int step = 0; step < own; ++step) scheme.step(weights, weights);
        scheme.finish(weights);
        return record{static_cast<double>(scheme.statistics().steps)};
      });
      for (std::size_t rank = 0; rank < steps.size(); ++rank)
        CHECK(steps[rank] == record{3.0 + static_cast<double>(rank)});
    }
}

}  // namespace
