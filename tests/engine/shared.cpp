// What ranks share besides gradients: buffers, checksums, and rank 0's state.
#include <catch2/catch.hpp>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <syncopate/syncopate.hpp>
#include <vector>

#include "../support/ranks.hpp"

using namespace syncopate;

TEST_CASE("Buffers are averaged, kept, or their maximum is taken", "[engine][combine]") {
  const int ranks = GENERATE(1, 2, 3);
  const auto got = support::on_ranks(ranks, [](thread_communicator communicator) {
    std::vector<float> weights(3);
    auto scheme = synchronous_sgd(weights, communicator, sgd{});
    const int rank = communicator.rank();
    std::vector<double> mean{1.0 * rank, -3.0}, own = mean;
    std::vector<std::int64_t> count{(std::int64_t{1} << 60) + rank, 7 - rank};
    scheme.combine(mean, combination::average);
    scheme.combine(own, combination::keep);
    scheme.combine(count, combination::maximum);
    std::vector<float> none;
    scheme.combine(none, combination::maximum);
    return std::tuple(mean, own, count);
  });
  for (int rank = 0; rank < ranks; ++rank) {
    const auto& [mean, own, count] = got[static_cast<std::size_t>(rank)];
    CHECK(mean == std::vector<double>{(ranks - 1) / 2., -3.0});
    CHECK(own == std::vector<double>{1.0 * rank, -3.0});
    CHECK(count == std::vector<std::int64_t>{(std::int64_t{1} << 60) + ranks - 1, 7});  // no double holds that
  }
}

TEST_CASE("Buffers that ranks combine differently are an error on all ranks", "[engine][combine]") {
  const auto outcomes = support::outcomes_on_ranks(thread_team{3}, [](thread_communicator communicator) {
    std::vector<float> weights(3), buffer(communicator.rank() == 1 ? 4 : 5);
    auto scheme = synchronous_sgd(weights, communicator, sgd{});
    scheme.combine(buffer, combination::maximum);
  });
  for (const auto& outcome : outcomes)
    CHECK(outcome.text ==
          "syncopate: ranks combine different buffers: ranks 0, 2: maximum of 5 numbers of 4 bytes; rank 1: maximum of "
          "4 numbers of 4 bytes");

  std::vector<float> weights(3);
  std::vector<int> counts{1};
  auto scheme = synchronous_sgd(weights, loopback{}, sgd{});
  CHECK_THROWS_WITH(scheme.combine(counts, combination::average),
                    "syncopate: integers have no average that is one of them: keep, or maximum");
}

namespace {

struct drifted {
  std::string complaint;
  std::uint64_t checksum;
  std::vector<float> weights;
};

/// What ranks say of their checksum when the last one's weights have drifted, and after they have been resynchronised.
template <class Make>
std::vector<drifted> drift(int ranks, Make make) {
  return support::on_ranks(ranks, [&](thread_communicator communicator) {
    std::vector<float> weights{1, 2, 3}, gradients{1, 1, 1};
    auto scheme = make(weights, communicator);
    for (int step = 0; step < 5; ++step) scheme.step(weights, gradients);
    scheme.checksum(weights);
    std::vector<float> other = weights;
    if (communicator.rank() == communicator.size() - 1) other[1] = -other[1];
    const std::string complaint = support::outcome_of([&] { scheme.checksum(other); }).text;
    scheme.resynchronise(other);
    return drifted{complaint, scheme.checksum(other), other};
  });
}

}  // namespace

TEST_CASE("Weights that have drifted apart are found, and put together again", "[engine][checksum]") {
  const int ranks = GENERATE(2, 3);
  const auto all = drift(ranks, [](auto& w, auto c) { return pseudo_synchronous_sgd(w, c, sgd{}); });
  for (const drifted& rank : all) {
    CHECK_THAT(rank.complaint, Catch::StartsWith("syncopate: ranks have drifted apart: rank"));
    CHECK(rank.complaint == all[0].complaint);
    CHECK(rank.checksum == all[0].checksum);
    CHECK(rank.weights == all[0].weights);
  }
}

TEST_CASE("Predictions and weights of a rank's own may differ", "[engine][checksum]") {
  const auto looking_ahead = drift(2, [](auto& w, auto c) { return lookahead_sgd(w, c, sgd{.momentum = 0.9}); });
  const auto local = drift(2, [](auto& w, auto c) { return local_sgd(w, c, sgd{}); });
  for (const auto& all : {looking_ahead, local})
    for (const drifted& rank : all) {
      CHECK(rank.complaint.empty());
      CHECK(rank.checksum == all[0].checksum);
    }
}
