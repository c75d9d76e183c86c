#include <catch2/catch.hpp>
#include <cmath>
#include <cstddef>
#include <string>
#include <syncopate/syncopate.hpp>
#include <tuple>
#include <utility>
#include <vector>

#include "../support/ranks.hpp"

using namespace syncopate;

namespace {

using tensors = std::vector<std::vector<float>>;

/// Weights on each rank after one step of plain SGD at learning rate 1 from zero, and `finish`.
template <class Gradient>
std::vector<tensors> after_a_step(int ranks, const scheme_options& options, std::int64_t delay, Gradient gradient_of) {
  return support::on_ranks(ranks, [&](thread_communicator communicator) {
    tensors weights{{0, 0}, {0}};
    const tensors gradients = gradient_of(communicator.rank());
    auto scheme = lookahead_sgd(weights, communicator, sgd{.learning_rate = 1}, no_prediction{}, delay, options);
    scheme.step(weights, gradients);
    scheme.finish(weights);
    return weights;
  });
}

bool close(const tensors& a, const tensors& b) {
  for (std::size_t t = 0; t < a.size(); ++t)
    for (std::size_t i = 0; i < a[t].size(); ++i)
      if (!(std::abs(a[t][i] - b[t][i]) < 1e-6F)) return false;
  return true;
}

/// Of norm 7: √(2² + 3² + 6²).
const tensors seven{{2, 3}, {6}};
tensors times(float factor, tensors x) {
  for (auto& tensor : x)
    for (float& element : tensor) element *= factor;
  return x;
}

}  // namespace

TEST_CASE("The norm of the mean is bounded, over all tensors and buckets", "[engine][clipping]") {
  const std::size_t bucket_bytes = GENERATE(1u, 1000u);
  const std::int64_t delay = GENERATE(0, 1, 3);
  const scheme_options options{.bucket_bytes = bucket_bytes, .largest_norm = 3.5};
  for (const int ranks : {1, 2, 3}) {
    // One rank has all of it, so that the mean is a part of what that one has.
    const auto all = after_a_step(ranks, options, delay,
                                  [&](int rank) { return times(rank == 0 ? static_cast<float>(ranks) : 0.F, seven); });
    for (const tensors& weights : all) {
      CHECK(close(weights, times(-0.5F, seven)));
      CHECK(weights == all[0]);
    }
  }
}

TEST_CASE("Norms of ranks' own gradients are bounded before they are averaged", "[engine][clipping]") {
  const std::int64_t delay = GENERATE(0, 1);
  const scheme_options before{.largest_norm = 3.5, .clip = clipping::before_averaging}, after{.largest_norm = 3.5};
  const auto opposite = [](int rank) { return times(rank == 0 ? 3.F : -1.F, seven); };
  // The mean is 1 · (2, 3, 6), which is too large; each part of it is, too.
  CHECK(close(after_a_step(2, after, delay, opposite)[0], times(-0.5F, seven)));
  CHECK(close(after_a_step(2, before, delay, opposite)[0], times(0, seven)));
  const auto small = [](int rank) { return times(rank == 0 ? 0.4F : -0.2F, seven); };
  CHECK(close(after_a_step(2, before, delay, small)[0], times(-0.1F, seven)));
  CHECK(after_a_step(2, before, delay, small) == after_a_step(2, {}, delay, small));
}

TEST_CASE("A local move is made by a gradient of bounded norm", "[engine][clipping]") {
  tensors weights{{0, 0}, {0}};
  auto scheme = local_sgd(weights, loopback{}, sgd{.learning_rate = 1}, 4,
                          {.largest_norm = 3.5, .clip = clipping::before_averaging});
  scheme.step(weights, seven);
  CHECK(close(weights, times(-0.5F, seven)));
  scheme.step(weights, times(0.5F, seven));
  CHECK(close(weights, times(-1, seven)));
}

TEST_CASE("The norm is one over both element types", "[engine][clipping]") {
  std::vector<float> single{0, 0}, single_gradient{2, 3};
  std::vector<double> twofold{0}, twofold_gradient{6};
  for (const clipping clip : {clipping::before_averaging, clipping::after_averaging}) {
    single = {0, 0};
    twofold = {0};
    const auto weights = std::tie(single, twofold);
    auto scheme = synchronous_sgd(weights, loopback{}, sgd{.learning_rate = 1}, {.largest_norm = 3.5, .clip = clip});
    scheme.step(weights, std::tie(single_gradient, twofold_gradient));
    CHECK(single == std::vector<float>{-1, -1.5F});
    CHECK(twofold == std::vector<double>{-3});
  }
}

TEST_CASE("Bounds that make no sense are refused", "[engine][clipping]") {
  std::vector<float> weights(3);
  CHECK_THROWS_WITH(synchronous_sgd(weights, loopback{}, sgd{}, {.largest_norm = 0}),
                    "syncopate: a scheme's largest_norm must be positive, but is 0");
  CHECK_THROWS_WITH(synchronous_sgd(weights, loopback{}, sgd{}, {.largest_norm = NAN}),
                    Catch::StartsWith("syncopate: a scheme's largest_norm must be positive, but is "));
  CHECK_THROWS_WITH(local_sgd(weights, loopback{}, sgd{}, 4, {.largest_norm = 1}),
                    "syncopate: a mean of weights has no gradient's norm: clip before_averaging");
}
