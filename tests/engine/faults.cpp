// What goes wrong on one rank, and what the others hear of it.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <syncopate/syncopate.hpp>
#include <utility>
#include <vector>

#include "../support/ranks.hpp"
#include "syncopate/detail/exchange/header.hpp"

using namespace syncopate;

TEST_CASE("Ranks that call different things get the same error", "[engine][faults]") {
  const int odd = GENERATE(0, 1, 2);
  const auto outcomes = support::outcomes_on_ranks(thread_team{3}, [&](thread_communicator communicator) {
    std::vector<float> weights(3), gradients(3), out(3);
    auto scheme = local_sgd(weights, communicator, sgd{}, 4);
    for (int step = 0; step < 5; ++step) scheme.step(weights, gradients);
    if (communicator.rank() == odd)
      scheme.consensus(weights, out);
    else
      for (int step = 5; step < 9; ++step) scheme.step(weights, gradients);
  });
  const std::string others = odd == 0 ? "ranks 1, 2" : odd == 1 ? "ranks 0, 2" : "ranks 0, 1";
  const std::string one = "rank " + std::to_string(odd) + ": consensus at step 5", rest = others + ": step 7";
  for (const auto& outcome : outcomes) {
    CHECK(outcome.kind == support::outcome::communication_failed);
    CHECK(outcome.text ==
          "syncopate: ranks called different things: " + (odd == 0 ? one + "; " + rest : rest + "; " + one));
  }
}

TEST_CASE("A header says everything, and shows when it was altered", "[engine][faults]") {
  using detail::calls;
  const std::int64_t step = GENERATE(0, 1, 1048575, 1048576, 1048577, std::int64_t{1} << 40);
  const std::size_t length = GENERATE(detail::header_elements, detail::observing_header_elements);
  std::vector<float> sum(6 * length);
  const std::span<float> all(sum);
  const auto place = [&](std::size_t rank) { return all.subspan(rank * length, length); };
  for (std::size_t rank = 0; rank < 6; ++rank)
    detail::coded_header<float>::write(place(rank),
                                       {step, rank == 4 ? calls::join : calls::step, rank != 5, 2.5, 3, {7, 6, 5}});

  const auto said = detail::read_headers(std::span<const float>(all), length, step);
  CHECK(said.samples == 15);
  CHECK(said.loss == 3);
  if (length > detail::header_elements) {
    CHECK(said.squares.all == 7);
    CHECK(said.squares.latest == 6);
    CHECK(said.squares.earlier == 5);
  }
  CHECK_FALSE(said.all_joined);
  CHECK(said.not_finite_rank == 5);

  detail::coded_header<float>::write(place(1), {step + 3, calls::step, true, 1});
  CHECK_THROWS_WITH(detail::read_headers(std::span<const float>(all), length, step),
                    "syncopate: ranks called different things: ranks 0, 2, 3, 5: step " + std::to_string(step) +
                        "; rank 1: step " + std::to_string(step + 3) + "; rank 4: join or finish at step " +
                        std::to_string(step));
  for (std::size_t element = 0; element < length; ++element) {
    auto altered = sum;
    altered[2 * length + element] += 1;
    CHECK_THROWS_WITH(detail::read_headers(std::span<const float>(altered), length, step),
                      "syncopate: the header that rank 2 sent with its message of about step " + std::to_string(step) +
                          " arrived damaged");
  }
}

namespace {

/// One rank, which notes what it is told about failures, and whose sums fail as they are told to.
struct fragile {
  struct notes {
    std::vector<std::string> failures;
    std::string stall;
  };
  struct request {
    std::shared_ptr<notes> shared;
    bool test() const { return shared->stall.empty(); }
    void wait() const {
      if (!shared->stall.empty()) throw stalled(shared->stall);
    }
  };
  std::shared_ptr<notes> shared = std::make_shared<notes>();

  static int rank() { return 0; }
  static int size() { return 1; }
  fragile duplicate() const { return *this; }
  template <Element T>
  request start_sum(std::span<T>) const {
    return {shared};
  }
  static void broadcast(std::span<std::byte>, int) {}
  static void all_gather(std::span<const std::byte> own, std::span<std::byte> all) {
    std::copy(own.begin(), own.end(), all.begin());
  }
  void fail(std::string_view what) const noexcept { shared->failures.emplace_back(what); }
};

}  // namespace

TEST_CASE("A stall is told with its step and bucket, and ends the scheme", "[engine][faults]") {
  std::vector<std::vector<float>> weights{{1, 2}, {3}}, gradients = weights;
  fragile communicator;
  auto scheme = update_scheme{
      weights, communicator, fixed_delay{1}, gradient_averaging{no_prediction{}, sgd{}}, {.bucket_bytes = 1}};
  scheme.step(weights, gradients);
  const auto before = weights;
  communicator.shared->stall = "syncopate: nothing came from rank 3";
  try {
    scheme.step(weights, gradients);
    FAIL("there was no stall");
  } catch (const stalled& stall) {
    CHECK(stall.what() == std::string("syncopate: the message of step 0 (bucket 0 of 2) has not landed: nothing came "
                                      "from rank 3"));
  }
  CHECK(weights == before);
  CHECK_THROWS_WITH(scheme.step(weights, gradients),
                    "syncopate: step was called after the scheme had failed: the message of step 0 (bucket 0 of 2) has "
                    "not landed: nothing came from rank 3");
  CHECK_THROWS_AS(scheme.finish(weights), usage_error);
}

TEST_CASE("A scheme that an exception ends tells the others", "[engine][faults]") {
  std::vector<float> weights(3), gradients(3);
  fragile communicator;
  const auto train = [&](auto work) {
    communicator.shared->failures.clear();
    try {
      auto scheme = synchronous_sgd(weights, communicator, sgd{});
      scheme.step(weights, gradients);
      work(scheme);
    } catch (const std::exception&) {  // NOLINT(bugprone-empty-catch): it is the test's own
    }
    return communicator.shared->failures;
  };
  using list = std::vector<std::string>;
  CHECK(train([](auto&) {}) == list{});
  CHECK(train([](auto&) { throw std::runtime_error("no data"); }) == list{""});
  CHECK(train([&](auto& scheme) { scheme.step(weights, std::vector<float>(2)); })
            .at(0)
            .starts_with("syncopate: gradients of tensor 0 have 2"));
  CHECK(train([&](auto& scheme) { scheme.fail("no data"); }) == list{"no data"});
  CHECK(train([&](auto& scheme) {
          auto moved = std::move(scheme);
          throw std::runtime_error("once");
        }) == list{""});
  // While another exception passes by, a scheme that ends well has nothing to tell.
  struct at_end {
    std::function<void()> call;
    ~at_end() { call(); }
  };
  CHECK(train([&](auto&) {
          communicator.shared->failures.clear();
          const at_end guard{[&] {
            std::vector<float> others(1);
            auto scheme = synchronous_sgd(others, communicator, sgd{});
            scheme.finish(others);
          }};
          throw std::runtime_error("once");
        }) == list{""});
}
