#include <catch2/catch.hpp>
#include <cstddef>
#include <functional>
#include <string>
#include <syncopate/syncopate.hpp>
#include <tuple>
#include <utility>
#include <vector>

#include "../support/ranks.hpp"
#include "../support/training.hpp"

using namespace syncopate;

namespace {

using support::any_communicator;
using support::maker;
using support::mixed_model;
using W = support::model<float>;

/// What making a scheme says on each rank: "layout: …" or "configuration: …" or "" where it succeeds.
std::vector<std::string> said_on_ranks(int ranks,
                                       const std::function<void(any_communicator communicator, bool odd)>& make) {
  return support::on_ranks(ranks, [&](thread_communicator communicator) -> std::string {
    try {
      make(any_communicator(communicator), communicator.rank() == communicator.size() - 1);
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
    CHECK(said_on_ranks(ranks,
                        [](any_communicator communicator, bool odd) {
                          W weights{std::vector<float>(4), std::vector<float>(odd ? 7 : 6)};
                          compiled::synchronous_sgd<W>(sgd{})(weights, std::move(communicator));
                        }) == on_all(ranks, begin + "1: " + all_but_last(ranks) + ": 6 elements of float; " +
                                                last(ranks) + ": 7 elements of float"));
  }
  SECTION("one more") {
    CHECK(said_on_ranks(ranks,
                        [](any_communicator communicator, bool odd) {
                          W weights(odd ? 3 : 2, std::vector<float>(1));
                          compiled::synchronous_sgd<W>(sgd{})(weights, std::move(communicator));
                        }) == on_all(ranks, begin + "2: " + all_but_last(ranks) + ": no such tensor; " + last(ranks) +
                                                ": 1 element of float"));
  }
  SECTION("none") {
    CHECK(said_on_ranks(ranks,
                        [](any_communicator communicator, bool odd) {
                          W weights(odd ? 0 : 2, std::vector<float>(3));
                          compiled::synchronous_sgd<W>(sgd{})(weights, std::move(communicator));
                        }) == on_all(ranks, begin + "0: " + all_but_last(ranks) + ": 3 elements of float; " +
                                                last(ranks) + ": no such tensor"));
  }
  SECTION("another element type") {
    CHECK(said_on_ranks(ranks,
                        [](any_communicator communicator, bool odd) {
                          W single{std::vector<float>(3)};
                          support::model<double> twofold{std::vector<double>(3)};
                          if (odd)
                            compiled::synchronous_sgd<support::model<double>>(sgd{})(twofold, std::move(communicator));
                          else
                            compiled::synchronous_sgd<W>(sgd{})(single, std::move(communicator));
                        }) == on_all(ranks, begin + "0: " + all_but_last(ranks) + ": 3 elements of float; " +
                                                last(ranks) + ": 3 elements of double"));
  }
}

TEST_CASE("Ranks with different schemes are told so", "[engine][agreement]") {
  const int ranks = GENERATE(2, 3);
  const auto said = [&](const maker<W>& of_most, const maker<W>& of_last) {
    return said_on_ranks(ranks, [&](any_communicator communicator, bool odd) {
      W weights{std::vector<float>(3)};
      (odd ? of_last : of_most)(weights, std::move(communicator));
    });
  };
  const auto all_say = [&](const std::vector<std::string>& texts, const std::string& begin) {
    CHECK(texts == on_all(ranks, texts[0]));
    CHECK_THAT(texts[0], Catch::StartsWith("configuration: syncopate: " + begin));
  };

  SECTION("another averaging") {
    all_say(said(compiled::pseudo_synchronous_sgd<W>(sgd{}), compiled::lookahead_sgd<W>(sgd{})),
            "ranks were given different schemes: " + all_but_last(ranks) + ": ");
  }
  SECTION("another rule") {
    all_say(said(compiled::synchronous_sgd<W>(sgd{}), compiled::synchronous_sgd<W>(adamw{})),
            "ranks were given different schemes: ");
  }
  SECTION("another delay") {
    CHECK(said(compiled::lookahead_sgd<W>(sgd{}, local_gradient{}, 2),
               compiled::lookahead_sgd<W>(sgd{}, local_gradient{}, 3)) ==
          on_all(ranks, "configuration: syncopate: ranks were given different delays: " + all_but_last(ranks) +
                            ": 2 messages in flight; " + last(ranks) + ": 3 messages in flight"));
  }
  SECTION("another period") {
    all_say(said(compiled::dasgd<W>(sgd{}, periodic_delay{.period = 4, .delay = 1}),
                 compiled::dasgd<W>(sgd{}, periodic_delay{.period = 5, .delay = 1})),
            "ranks were given different delays: ");
  }
  SECTION("another delay within the period") {
    all_say(said(compiled::dasgd<W>(sgd{}, periodic_delay{.period = 4, .delay = 2}),
                 compiled::dasgd<W>(sgd{}, periodic_delay{.period = 4, .delay = 1})),
            "ranks were given different delays: ");
  }
  SECTION("another warm-up") {
    all_say(said(compiled::od_sgd<W>(sgd{}, 200), compiled::od_sgd<W>(sgd{}, 201)),
            "ranks were given different delays: ");
  }
  SECTION("another size of buckets") {
    const auto with = [](std::size_t bucket_bytes) {
      return compiled::scheme<W>(warm_up{0, fixed_delay{1}}, gradient_averaging{no_prediction{}, sgd{}},
                                 scheme_options{.bucket_bytes = bucket_bytes});
    };
    CHECK(said(with(32), with(64)) ==
          on_all(ranks, "configuration: syncopate: ranks were given different options: " + all_but_last(ranks) +
                            ": 32 bytes per bucket, non-finite gradients refused; " + last(ranks) +
                            ": 64 bytes per bucket, non-finite gradients refused"));
  }
}

TEST_CASE("What is wrong with one rank's arguments is an error on all ranks", "[engine][agreement]") {
  const int ranks = GENERATE(2, 3);
  CHECK(said_on_ranks(
            ranks,
            [](any_communicator communicator, bool odd) {
              W weights{std::vector<float>(3)};
              compiled::synchronous_sgd<W>(sgd{.learning_rate = odd ? -1. : 1.})(weights, std::move(communicator));
            }) == on_all(ranks,
                         "configuration: syncopate: sgd.learning_rate must be a finite number of at least 0, but "
                         "is -1 (" +
                             last(ranks) + ")"));
  const auto texts = said_on_ranks(ranks, [](any_communicator communicator, bool odd) {
    std::vector<float> a(3), b(3);
    synchronous_sgd(odd ? std::tie(a, a) : std::tie(a, b), std::move(communicator), sgd{});
  });
  CHECK(texts == on_all(ranks, texts[0]));
  CHECK_THAT(texts[0], Catch::StartsWith("layout: syncopate: weights of tensor 0 and weights of tensor 1 share "
                                         "memory") &&
                           Catch::EndsWith("(" + last(ranks) + ")"));
}

TEST_CASE("After a disagreement the same ranks can agree", "[engine][agreement]") {
  const auto found = support::on_ranks(2, [](thread_communicator communicator) {
    const any_communicator ranks(communicator);
    W weights{std::vector<float>(1 + static_cast<std::size_t>(communicator.rank()))};
    try {
      compiled::synchronous_sgd<W>(sgd{})(weights, ranks.duplicate());
    } catch (const layout_error&) {
      weights = {{8}};
    }
    auto scheme = compiled::synchronous_sgd<W>(sgd{.learning_rate = 0.5})(weights, ranks.duplicate());
    scheme.step(weights, {{1}});
    return weights;
  });
  CHECK(found == std::vector(2, W{{7.5}}));
}

TEST_CASE("All ranks start from rank 0's weights", "[engine][agreement]") {
  for (const auto& [a, b] : support::on_ranks(3, [](thread_communicator communicator) {
         mixed_model weights{{std::vector<float>(700, static_cast<float>(communicator.rank() + 1))},
                             {std::vector<double>(3, communicator.rank() + 10)}};
         compiled::lookahead_sgd<mixed_model>(adamw{}, blended_gradient{}, 2)(weights, any_communicator(communicator));
         return weights;
       })) {
    CHECK(a[0] == std::vector<float>(700, 1));
    CHECK(b[0] == std::vector<double>(3, 10));
  }
}
