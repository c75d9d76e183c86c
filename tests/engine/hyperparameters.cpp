// Hyper-parameters that differ in value between ranks: at construction, and later, on one rank alone.
#include <catch2/catch.hpp>
#include <cstddef>
#include <string>
#include <syncopate/communicators/thread_team.hpp>
#include <syncopate/syncopate.hpp>
#include <utility>
#include <vector>

#include "../support/ranks.hpp"

using namespace syncopate;

namespace {

using W = std::vector<std::vector<double>>;

/// Schemes whose ranks must not have different hyper-parameters: calls `use(scheme_for, change)`, where
/// `scheme_for(weights, communicator, odd)` makes one, with another value if `odd`, and `change(scheme)` gives it one.
template <class Use>
void each_scheme(Use use) {
  const auto faster = [](auto& scheme) { scheme.rule().learning_rate *= 2; };
  use([](W& weights, thread_communicator ranks,
         bool odd) { return synchronous_sgd(weights, ranks, sgd{.learning_rate = odd ? 0.2 : 0.1}); },
      faster);
  use([](W& weights, thread_communicator ranks,
         bool odd) { return pseudo_synchronous_sgd(weights, ranks, sgd{}, exponential_smoothing{odd ? 0.25 : 0.5}); },
      [](auto& scheme) { scheme.averaging().predictor.gain = 0.75; });
  use([](W& weights, thread_communicator ranks,
         bool odd) { return lookahead_sgd(weights, ranks, adamw{.epsilon = odd ? 1e-7 : 1e-8}); },
      [](auto& scheme) { scheme.rule().weight_decay = 0.125; });
  use([](W& weights, thread_communicator ranks,
         bool odd) { return dasgd(weights, ranks, sgd{}, periodic_delay{.period = 2, .delay = 1}, odd ? 0.5 : 0.25); },
      [](auto& scheme) { scheme.averaging().merge.own_share = 0.75; });
  use([](W& weights, thread_communicator ranks,
         bool odd) { return sharded_sgd(weights, ranks, sgd{.momentum = odd ? 0.5 : 0.25}); },
      faster);
}

}  // namespace

TEST_CASE("Ranks that are given other values learn which, at construction", "[engine][agreement]") {
  each_scheme([](auto scheme_for, auto) {
    const auto texts = support::on_ranks(3, [&](thread_communicator communicator) -> std::string {
      W weights{{1, 2}, {3}};
      try {
        scheme_for(weights, communicator, communicator.rank() == 1);
      } catch (const configuration_error& error) {
        return error.what();
      }
      return "";
    });
    for (const std::string& text : texts) {
      CHECK(text == texts[0]);
      CHECK_THAT(text, Catch::Matchers::StartsWith(
                           "syncopate: ranks were given different hyper-parameters: ranks 0, 2: values "));
      CHECK_THAT(text, Catch::Matchers::Contains("; rank 1: values "));
    }
  });
}

TEST_CASE("A value that changes on one rank alone is found by the next messages, on all ranks", "[engine][agreement]") {
  each_scheme([](auto scheme_for, auto change) {
    const bool alone = GENERATE(true, false);
    const auto ends = support::on_ranks(2, [&](thread_communicator communicator) {
      W weights{{1, 2}, {3}}, gradients{{1, 1}, {1}};
      auto scheme = scheme_for(weights, communicator, false);
      std::pair<int, std::string> end{0, ""};
      try {
        for (; end.first < 12; ++end.first) {
          if (end.first == 4 && (!alone || communicator.rank() == 1)) change(scheme);
          scheme.step(weights, gradients);
        }
        scheme.finish(weights);
      } catch (const communication_error& error) {
        end.second = error.what();
      }
      return end;
    });
    CHECK(ends[0] == ends[1]);
    if (alone) {
      CHECK(ends[0].first >= 4);
      CHECK(ends[0].first < 9);
      CHECK_THAT(ends[0].second,
                 Catch::Matchers::StartsWith("syncopate: ranks have different hyper-parameters at step"));
    } else {
      CHECK(ends[0] == std::pair(12, std::string()));
    }
  });
}

TEST_CASE("A rank that has joined may have kept a value, where ranks train on their own", "[engine][agreement]") {
  const auto texts = support::on_ranks(2, [](thread_communicator communicator) -> std::string {
    W weights{{1, 2}, {3}}, gradients{{1, 1}, {1}};
    auto scheme = dasgd(weights, communicator, sgd{}, periodic_delay{.period = 2, .delay = 1});
    try {
      for (int step = 0; step < 6 - 2 * communicator.rank(); ++step) {
        scheme.rule().learning_rate = 0.1 / (1 + step);
        scheme.step(weights, gradients);
      }
      scheme.finish(weights);
    } catch (const error& error) {
      return error.what();
    }
    return "";
  });
  CHECK(texts == std::vector<std::string>{"", ""});
}

TEST_CASE("A scheme that was moved from says so", "[engine][lifetime]") {
  W weights{{1, 2}}, gradients{{1, 1}};
  auto scheme = synchronous_sgd(weights, loopback{}, sgd{});
  const auto moved = std::move(scheme);
  const std::string end = " was called on a scheme that was moved from";
  // NOLINTBEGIN(bugprone-use-after-move): that is what is tested
  CHECK_THROWS_WITH(scheme.step(weights, gradients), "syncopate: step" + end);
  CHECK_THROWS_WITH(scheme.finish(weights), "syncopate: finish" + end);
  CHECK_THROWS_WITH(scheme.before_forward(0), "syncopate: before_forward" + end);
  CHECK_THROWS_WITH(scheme.statistics(), "syncopate: statistics" + end);
  CHECK_THROWS_WITH(scheme.rule(), "syncopate: averaging" + end);
  // NOLINTEND(bugprone-use-after-move)
}
