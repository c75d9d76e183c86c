// A training loop that takes any scheme by reference.
#include <catch2/catch.hpp>
#include <cstddef>
#include <syncopate/syncopate.hpp>
#include <vector>

using namespace syncopate;

namespace {

using W = std::vector<std::vector<float>>;

/// Compiled once, whatever the scheme.
W trained_by(scheme_of<float>& scheme, W weights) {
  for (int step = 0; step < 3; ++step) {
    scheme.begin_step(weights);
    for (const std::size_t layer : {0u, 1u}) scheme.before_forward(layer);
    const W gradients{{weights[0][0], 1}, {2}};
    for (const std::size_t layer : {1u, 0u}) scheme.gradient_ready(layer, gradients[layer]);
    scheme.end_step();
  }
  scheme.finish(weights);
  return weights;
}

}  // namespace

TEST_CASE("A training loop may take any scheme by reference", "[engine]") {
  const W start{{1, 2}, {3}};
  W weights = start;
  auto synchronous = synchronous_sgd(weights, loopback{}, sgd{.learning_rate = 0.5});
  auto local = local_sgd(weights, loopback{}, sgd{.learning_rate = 0.5}, 2);
  CHECK(trained_by(synchronous, start) == W{{0.125F, 0.5F}, {0}});
  CHECK(trained_by(local, start) == W{{0.125F, 0.5F}, {0}});
  const scheme_base& told = synchronous;
  CHECK(told.statistics().steps == 3);
}
