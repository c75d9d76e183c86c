// Law 4: on a quadratic, schemes are stable exactly up to the edges that were derived for them.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <functional>
#include <numbers>
#include <utility>

#include "../support/ranks.hpp"
#include "../support/training.hpp"
#include "syncopate/communicators/loopback.hpp"
#include "syncopate/predictors/exponential_smoothing.hpp"
#include "syncopate/predictors/linear_extrapolation.hpp"
#include "syncopate/predictors/local_gradient.hpp"
#include "syncopate/predictors/no_prediction.hpp"
#include "syncopate/rules/sgd.hpp"

namespace {

using namespace syncopate;
using support::any_communicator;
using W = support::model<double>;
using scheme_with = std::function<support::maker<W>(sgd rule)>;

enum class fate { converges, grows, undecided };

/// Trains w² / 2 until w has stayed a million times smaller than 1, or is a million times larger. Near an edge that
/// takes some thousand steps, since a root of the recurrence is next to the unit circle. `kick` is added to the first
/// gradient.
fate fate_of(const scheme_with& make, sgd rule, double start, double kick = 0,
             any_communicator communicator = any_communicator(loopback{})) {
  W weight{{start}}, gradient{{0}};
  auto scheme = make(rule)(weight, std::move(communicator));
  for (int round = 0; round < 2000; ++round) {
    double furthest = 0;
    for (int step = 0; step < 100; ++step) {
      gradient[0][0] = weight[0][0] + std::exchange(kick, 0);
      scheme.step(weight, gradient);
      furthest = std::max(furthest, std::abs(weight[0][0]));
    }
    if (furthest < 1e-6) return fate::converges;
    if (!(furthest < 1e6)) return fate::grows;
  }
  return fate::undecided;
}

void check_edge(double edge, double momentum, const scheme_with& make) {
  INFO("edge " << edge << ", momentum " << momentum);
  CHECK(fate_of(make, {.learning_rate = 0.98 * edge, .momentum = momentum}, 1) == fate::converges);
  CHECK(fate_of(make, {.learning_rate = 1.02 * edge, .momentum = momentum}, 1) == fate::grows);
}

TEST_CASE("Delay d, no prediction: 2 sin(π / (2 (2 d + 1)))", "[stability]") {
  for (const int delay : {0, 1, 2, 3, 4})
    check_edge(2 * std::sin(std::numbers::pi / (2. * (2. * delay + 1))), 0,
               [&](sgd rule) { return compiled::pseudo_synchronous_sgd<W>(rule, no_prediction{}, delay); });
}

TEST_CASE("Delay 1, smoothing: 1, whatever the gain", "[stability]") {
  for (const double gain : {0.1, 0.3, 0.5, 0.9})
    check_edge(1, 0, [&](sgd rule) { return compiled::pseudo_synchronous_sgd<W>(rule, exponential_smoothing{gain}); });
}

TEST_CASE("Delay 1, linear extrapolation: 0.829 and 0.618", "[stability]") {
  for (const auto& [horizon, edge] : {std::pair{0.5, 0.829}, {1.0, 0.618}})
    check_edge(edge, 0, [horizon = horizon](sgd rule) {
      return compiled::pseudo_synchronous_sgd<W>(rule, linear_extrapolation{horizon});
    });
}

TEST_CASE("Delay 1, heavy ball, committed: 1 − β", "[stability]") {
  for (const double momentum : {0.3, 0.5, 0.9})
    check_edge(1 - momentum, momentum,
               [](sgd rule) { return compiled::pseudo_synchronous_sgd<W>(rule, no_prediction{}); });
}

TEST_CASE("Look-ahead with the local gradient, heavy ball: 2 (1 + β), as without delay", "[stability]") {
  for (const double momentum : {0.0, 0.5, 0.9}) {
    check_edge(2 * (1 + momentum), momentum, [](sgd rule) { return compiled::synchronous_sgd<W>(rule); });
    for (const int delay : {1, 2, 4})
      check_edge(2 * (1 + momentum), momentum,
                 [&](sgd rule) { return compiled::lookahead_sgd<W>(rule, local_gradient{}, delay); });
  }
}

// What ranks disagree about, δ, is fed by their own gradients alone: for equal curvatures
// δ_{k+1} = −x (a₀ δ_k + a₁ δ_{k−1} + … + a_{d−1} δ_{k−d+1}), a_j = 1 + β + … + β^j. Stable iff x < 1 at delay 1, and
// iff x < 1 / (1 + β) at delay 2 (Jury's criterion): narrower than the limit of their mean, above.
fate fate_of_disagreement(double learning_rate, double momentum, int delay) {
  return support::on_ranks(2, [&](thread_communicator communicator) {
    const double sign = communicator.rank() == 0 ? 1 : -1;
    return fate_of([&](sgd rule) { return compiled::lookahead_sgd<W>(rule, local_gradient{}, delay); },
                   {.learning_rate = learning_rate, .momentum = momentum}, 0, sign, any_communicator(communicator));
  })[0];
}

TEST_CASE("Look-ahead with the local gradient: ranks agree up to 1 at delay 1, 1 / (1 + β) at delay 2", "[stability]") {
  for (const double momentum : {0.0, 0.5, 0.9})
    for (const int delay : {1, 2}) {
      const double edge = delay == 1 ? 1 : 1 / (1 + momentum);
      INFO("delay " << delay << ", momentum " << momentum);
      CHECK(fate_of_disagreement(0.98 * edge, momentum, delay) == fate::converges);
      CHECK(fate_of_disagreement(1.02 * edge, momentum, delay) == fate::grows);
    }
}

}  // namespace
