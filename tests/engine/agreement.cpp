#include <catch2/catch.hpp>
#include <cstddef>
#include <string>
#include <syncopate/syncopate.hpp>
#include <tuple>
#include <utility>
#include <vector>

#include "../support/ranks.hpp"

using namespace syncopate;

namespace {

/// What making a scheme says on each rank: "layout: …" or "configuration: …" or "" where it succeeds.
template <class Make>
std::vector<std::string> said_on_ranks(int ranks, Make make) {
  return support::on_ranks(ranks, [&](thread_communicator communicator) -> std::string {
    try {
      make(communicator, communicator.rank() == communicator.size() - 1);
    } catch (const layout_error& error) {
      return std::string("layout: ") + error.what();
    } catch (const configuration_error& error) {
      return std::string("configuration: ") + error.what();
    }
    return {};
  });
}

/// The same for all ranks but the last: "rank 0" or "ranks 0, 1".
std::string all_but_last(int ranks) { return ranks == 2 ? "rank 0" : "ranks 0, 1"; }
std::string last(int ranks) { return "rank " + std::to_string(ranks - 1); }

std::vector<std::string> on_all(int ranks, const std::string& text) {
  return std::vector<std::string>(static_cast<std::size_t>(ranks), text);
}

}  // namespace

TEST_CASE("Ranks with different tensors learn which one differs first, and where", "[engine][agreement]") {
  const int ranks = GENERATE(2, 3);
  const std::string begin = "layout: syncopate: ranks have different layouts, first at tensor ";

  SECTION("another size") {
    CHECK(
        said_on_ranks(ranks,
                      [](auto communicator, bool odd) {
                        std::vector<std::vector<float>> weights{std::vector<float>(4), std::vector<float>(odd ? 7 : 6)};
                        synchronous_sgd(weights, communicator, sgd{});
                      }) == on_all(ranks, begin + "1: " + all_but_last(ranks) + ": 6 elements of float; " +
                                              last(ranks) + ": 7 elements of float"));
  }
  SECTION("one more") {
    CHECK(said_on_ranks(ranks,
                        [](auto communicator, bool odd) {
                          std::vector<std::vector<float>> weights(odd ? 3 : 2, std::vector<float>(1));
                          synchronous_sgd(weights, communicator, sgd{});
                        }) == on_all(ranks, begin + "2: " + all_but_last(ranks) + ": no such tensor; " + last(ranks) +
                                                ": 1 element of float"));
  }
  SECTION("none") {
    CHECK(said_on_ranks(ranks,
                        [](auto communicator, bool odd) {
                          std::vector<std::vector<float>> weights(odd ? 0 : 2, std::vector<float>(3));
                          synchronous_sgd(weights, communicator, sgd{});
                        }) == on_all(ranks, begin + "0: " + all_but_last(ranks) + ": 3 elements of float; " +
                                                last(ranks) + ": no such tensor"));
  }
  SECTION("another element type") {
    CHECK(said_on_ranks(ranks,
                        [](auto communicator, bool odd) {
                          std::vector<float> single(3);
                          std::vector<double> twofold(3);
                          if (odd)
                            synchronous_sgd(twofold, communicator, sgd{});
                          else
                            synchronous_sgd(single, communicator, sgd{});
                        }) == on_all(ranks, begin + "0: " + all_but_last(ranks) + ": 3 elements of float; " +
                                                last(ranks) + ": 3 elements of double"));
  }
}

TEST_CASE("Ranks with different schemes are told so", "[engine][agreement]") {
  const int ranks = GENERATE(2, 3);
  std::vector<std::vector<float>> of_rank(3, std::vector<float>(3));
  const auto said = [&](auto make) {
    return said_on_ranks(ranks, [&](auto communicator, bool odd) {
      make(of_rank[static_cast<std::size_t>(communicator.rank())], communicator, odd);
    });
  };
  const auto all_say = [&](const std::vector<std::string>& texts, const std::string& begin) {
    CHECK(texts == on_all(ranks, texts[0]));
    CHECK_THAT(texts[0], Catch::StartsWith("configuration: syncopate: " + begin));
  };

  SECTION("another averaging") {
    all_say(said([](auto& weights, auto communicator, bool odd) {
              if (odd)
                lookahead_sgd(weights, communicator, sgd{});
              else
                pseudo_synchronous_sgd(weights, communicator, sgd{});
            }),
            "ranks were given different schemes: " + all_but_last(ranks) + ": ");
  }
  SECTION("another rule") {
    all_say(said([](auto& weights, auto communicator, bool odd) {
              if (odd)
                synchronous_sgd(weights, communicator, adamw{});
              else
                synchronous_sgd(weights, communicator, sgd{});
            }),
            "ranks were given different schemes: ");
  }
  SECTION("another delay") {
    CHECK(said([](auto& weights, auto communicator, bool odd) {
            lookahead_sgd(weights, communicator, sgd{}, local_gradient{}, odd ? 3 : 2);
          }) == on_all(ranks, "configuration: syncopate: ranks were given different delays: " + all_but_last(ranks) +
                                  ": 2 messages in flight; " + last(ranks) + ": 3 messages in flight"));
  }
  SECTION("another period") {
    all_say(said([](auto& weights, auto communicator, bool odd) {
              dasgd(weights, communicator, sgd{}, {.period = odd ? 5 : 4, .delay = 1});
            }),
            "ranks were given different delays: ");
  }
  SECTION("another delay within the period") {
    all_say(said([](auto& weights, auto communicator, bool odd) {
              dasgd(weights, communicator, sgd{}, {.period = 4, .delay = odd ? 1 : 2});
            }),
            "ranks were given different delays: ");
  }
  SECTION("another warm-up") {
    all_say(
        said([](auto& weights, auto communicator, bool odd) { od_sgd(weights, communicator, sgd{}, odd ? 201 : 200); }),
        "ranks were given different delays: ");
  }
  SECTION("another size of buckets") {
    CHECK(said([](auto& weights, auto communicator, bool odd) {
            const gradient_averaging averaging{no_prediction{}, sgd{}};
            update_scheme{weights, communicator, fixed_delay{1}, averaging, std::size_t{odd ? 64u : 32u}};
          }) == on_all(ranks, "configuration: syncopate: ranks were given different bucket sizes: " +
                                  all_but_last(ranks) + ": 32 bytes; " + last(ranks) + ": 64 bytes"));
  }
}

TEST_CASE("What is wrong with one rank's arguments is an error on all ranks", "[engine][agreement]") {
  const int ranks = GENERATE(2, 3);
  CHECK(said_on_ranks(ranks,
                      [](auto communicator, bool odd) {
                        std::vector<float> weights(3);
                        synchronous_sgd(weights, communicator, sgd{.learning_rate = odd ? -1. : 1.});
                      }) ==
        on_all(ranks,
               "configuration: syncopate: sgd.learning_rate must be a finite number of at least 0, but "
               "is -1 (" +
                   last(ranks) + ")"));
  const auto texts = said_on_ranks(ranks, [](auto communicator, bool odd) {
    std::vector<float> a(3), b(3);
    synchronous_sgd(odd ? std::tie(a, a) : std::tie(a, b), communicator, sgd{});
  });
  CHECK(texts == on_all(ranks, texts[0]));
  CHECK_THAT(texts[0], Catch::StartsWith("layout: syncopate: weights of tensor 0 and weights of tensor 1 share "
                                         "memory") &&
                           Catch::EndsWith("(" + last(ranks) + ")"));
}

TEST_CASE("After a disagreement the same ranks can agree", "[engine][agreement]") {
  const auto found = support::on_ranks(2, [](thread_communicator communicator) {
    std::vector<double> weights(1 + static_cast<std::size_t>(communicator.rank())), gradients(1, 1);
    try {
      synchronous_sgd(weights, communicator, sgd{});
    } catch (const layout_error&) {
      weights.assign(1, 8);
    }
    auto scheme = synchronous_sgd(weights, communicator, sgd{.learning_rate = 0.5});
    scheme.step(weights, gradients);
    return weights;
  });
  CHECK(found == std::vector(2, std::vector<double>{7.5}));
}

TEST_CASE("All ranks start from rank 0's weights", "[engine][agreement]") {
  for (const auto& [a, b] : support::on_ranks(3, [](thread_communicator communicator) {
         std::pair<std::vector<float>, std::vector<double>> weights(std::vector<float>(700), std::vector<double>(3));
         weights.first.assign(700, static_cast<float>(communicator.rank() + 1));
         weights.second.assign(3, communicator.rank() + 10);
         lookahead_sgd(weights, communicator, sgd{});
         return weights;
       })) {
    CHECK(a == std::vector<float>(700, 1));
    CHECK(b == std::vector<double>(3, 10));
  }
}
