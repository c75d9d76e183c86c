#include <catch2/catch.hpp>
#include <cstddef>
#include <cstdint>
#include <syncopate/syncopate.hpp>
#include <utility>
#include <vector>

#include "../support/delayed_gradient_averaging.hpp"
#include "../support/ranks.hpp"

using namespace syncopate;

namespace {

using support::delayed_gradient_averaging;

/// Launches at steps 0, 1, 3, 6, 10, …; a message is due when the next one leaves.
struct ever_more_seldom {
  bool launches(std::int64_t step) const {
    for (std::int64_t k = 0, sum = 0; sum <= step; sum += ++k)
      if (sum == step) return true;
    return false;
  }
  bool due(std::int64_t launched, std::int64_t step) const { return step > launched && launches(step); }
  static std::int64_t most_in_flight() { return 1; }
};

/// A whole number that depends on step, rank and parameter.
int number(int step, int rank, std::size_t i) { return (step * 11 + rank * 5 + static_cast<int>(i) * 3) % 9 - 4; }

}  // namespace

TEMPLATE_TEST_CASE("An averaging of one's own: delayed gradient averaging", "[engine][custom]", float, double) {
  using T = TestType;
  // Powers of two for η and the number of ranks, and whole numbers as gradients: the arithmetic is exact.
  const int delay = GENERATE(0, 1, 3);
  const int ranks = GENERATE(1, 2, 4);
  constexpr int steps = 12;
  constexpr std::size_t size = 1100;
  const auto found = support::on_ranks(ranks, [&](thread_communicator communicator) {
    std::vector<T> weights(size), gradients(size);
    update_scheme scheme{weights, communicator, fixed_delay{delay}, delayed_gradient_averaging{.learning_rate = 0.5}};
    for (int step = 0; step < steps; ++step) {
      for (std::size_t i = 0; i < size; ++i) gradients[i] = T(number(step, communicator.rank(), i));
      scheme.step(weights, gradients);
    }
    auto last = weights;
    scheme.finish(weights);
    return std::pair(last, weights);
  });
  for (int rank = 0; rank < ranks; ++rank)
    for (std::size_t i = 0; i < size; i += 37) {
      T expected = 0, at_end = 0;
      for (int step = 0; step < steps; ++step) {
        T mean = 0;
        for (int other = 0; other < ranks; ++other) mean += T(number(step, other, i)) / T(ranks);
        expected -= (step < steps - delay ? mean : T(number(step, rank, i))) / 2;
        at_end -= mean / 2;
      }
      INFO("rank " << rank << ", parameter " << i);
      CHECK(found[static_cast<std::size_t>(rank)].first[i] == expected);
      CHECK(found[static_cast<std::size_t>(rank)].second[i] == at_end);
    }
}

TEST_CASE("An averaging's own hyper-parameters are validated", "[engine][custom]") {
  std::vector<float> weights(3);
  using scheme = update_scheme<float, loopback, fixed_delay, delayed_gradient_averaging>;
  CHECK_THROWS_AS(scheme(weights, loopback{}, fixed_delay{1}, delayed_gradient_averaging{.learning_rate = 0}),
                  configuration_error);
}

TEST_CASE("A delay policy of one's own", "[engine][custom]") {
  const auto found = support::on_ranks(2, [](thread_communicator communicator) {
    std::vector<double> weights(1);
    std::vector<std::int64_t> absorbed;
    update_scheme scheme{weights, communicator, ever_more_seldom{}, weight_averaging{replace{}, sgd{}}};
    for (int step = 0; step < 12; ++step) {
      scheme.step(weights, std::vector<double>{1});
      absorbed.push_back(scheme.statistics().absorbed);
    }
    return absorbed;
  });
  CHECK(found[0] == std::vector<std::int64_t>{0, 1, 1, 2, 2, 2, 3, 3, 3, 3, 4, 4});
  CHECK(found[1] == found[0]);
}
