#include "syncopate/communicators/faulty.hpp"

#include <algorithm>
#include <bit>
#include <catch2/catch.hpp>
#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "../support/numbers.hpp"
#include "../support/ranks.hpp"
#include "syncopate/communicators/loopback.hpp"
#include "syncopate/communicators/thread_team.hpp"

using namespace syncopate;

namespace {

static_assert(Communicator<faulty_communicator<loopback>, float>);
static_assert(Communicator<faulty_communicator<thread_communicator>, double>);

/// Complete sums that somebody may also wait for, fail, and ask what they cost.
struct full : loopback {
  std::string* heard = nullptr;
  full duplicate() const { return *this; }
  template <class T>
  void sum(std::span<T> elements) {
    for (T& x : elements) x += T(1);
  }
  void fail(std::string_view what) noexcept { *heard = what; }
  static int cost() { return 7; }
};

template <class C>
concept can_all = requires(C c, std::span<float> elements) {
  c.sum(elements);
  c.fail("");
  c.cost();
};
template <class C>
concept can_some = requires(C c, std::span<float> elements) {
  c.sum(elements);
}
|| requires(C c) { c.fail(""); }
|| requires(C c) { c.cost(); };
static_assert(can_all<faulty_communicator<full>>);
static_assert(!can_some<faulty_communicator<loopback>>);

/// The numbers of the sums, of `sums` that are started one after the other and then tested in turns, in the order in
/// which they say that they are complete.
std::vector<int> order_of_completion(const fault_plan& plan, int sums) {
  faulty_communicator communicator{loopback{}, plan};
  std::vector<float> element(1);
  std::vector<decltype(communicator.start_sum(std::span(element)))> requests;
  for (int n = 0; n < sums; ++n) requests.push_back(communicator.start_sum(std::span(element)));
  std::vector<int> order;
  while (order.size() < requests.size())
    for (int n = 0; n < sums; ++n)
      if (std::ranges::find(order, n) == order.end() && requests[static_cast<std::size_t>(n)].test())
        order.push_back(n);
  return order;
}

}  // namespace

TEST_CASE("A plan says what is planned", "[faulty]") {
  CHECK(fault_plan{}.text() == "no fault (seed 0)");
  CHECK(fault_plan{.fault = planned_fault::slow, .seed = 3}.text() == "sums are slow with probability 0.5 (seed 3)");
  CHECK(fault_plan{.fault = planned_fault::reordered, .probability = 1}.text() ==
        "sums complete after later ones with probability 1 (seed 0)");
  const auto text = [](planned_fault fault) {
    return fault_plan{.fault = fault, .seed = 5, .rank = 2, .operation = 17}.text();
  };
  CHECK(text(planned_fault::dropped) == "rank 2 drops out from operation 17 on (seed 5)");
  CHECK(text(planned_fault::corrupted_header) == "a header of rank 2 is corrupted from operation 17 on (seed 5)");
  CHECK(text(planned_fault::failed_start) == "a sum of rank 2 fails to start from operation 17 on (seed 5)");
  CHECK(text(planned_fault::failed_test) == "a test of a sum fails on rank 2 from operation 17 on (seed 5)");
  CHECK(text(planned_fault::failed_wait) == "waiting for a sum fails on rank 2 from operation 17 on (seed 5)");
}

TEST_CASE("A plan that makes no sense is refused", "[faulty]") {
  for (const fault_plan& plan : {fault_plan{.rank = -1}, fault_plan{.operation = -1}, fault_plan{.probability = 1.5}})
    CHECK_THROWS_AS(faulty_communicator(loopback{}, plan), configuration_error);
}

TEST_CASE("Without a fault it is the inner communicator", "[faulty]") {
  const auto sums = support::on_ranks(3, [](thread_communicator inner) {
    faulty_communicator communicator = faulty_communicator{inner, {}}.duplicate();
    auto values = support::awkward_numbers<float>(communicator.rank(), 5000);
    auto request = communicator.start_sum(std::span(values));
    request.wait();
    values.push_back(request.test() ? 1.F : 0.F);
    int from = communicator.rank();
    communicator.broadcast(std::as_writable_bytes(std::span(&from, 1)), 2);
    const int own = 10 * communicator.rank() + from;
    std::vector<int> all(3);
    communicator.all_gather(std::as_bytes(std::span(&own, 1)), std::as_writable_bytes(std::span(all)));
    values.insert(values.end(), all.begin(), all.end());
    return values;
  });
  const auto expected = support::on_ranks(3, [](thread_communicator inner) {
    auto values = support::awkward_numbers<float>(inner.rank(), 5000);
    inner.start_sum(std::span(values)).wait();
    values.insert(values.end(), {1, 2, 12, 22});
    return values;
  });
  CHECK(sums == expected);
}

TEST_CASE("What an inner communicator can do besides is passed on", "[faulty]") {
  std::string heard;
  full inner;
  inner.heard = &heard;
  faulty_communicator communicator{inner, {}};
  float x = 1;
  communicator.sum(std::span(&x, 1));
  CHECK(x == 2);
  communicator.fail("why");
  CHECK(heard == "why");
  CHECK(communicator.cost() == 7);
}

TEST_CASE("Slow sums complete in the end, and are what they are otherwise", "[faulty]") {
  const fault_plan plan{.fault = planned_fault::slow, .seed = 1, .probability = 1};
  faulty_communicator communicator{loopback{}, plan};
  float x = 1;
  auto request = communicator.start_sum(std::span(&x, 1));
  int refusals = 0;
  while (!request.test()) ++refusals;
  CHECK(refusals >= 1);
  CHECK(refusals <= 8);
  CHECK(request.test());
  auto waited_for = communicator.start_sum(std::span(&x, 1));
  CHECK_FALSE(waited_for.test());
  waited_for.wait();
  CHECK(waited_for.test());
  CHECK(x == 1);
  CHECK_FALSE(communicator.struck());
}

TEST_CASE("Held-up sums depend on the seed and the probability only", "[faulty]") {
  const auto order = [](std::uint64_t seed, double probability) {
    return order_of_completion({.fault = planned_fault::slow, .seed = seed, .probability = probability}, 40);
  };
  CHECK(order(1, 0.5) == order(1, 0.5));
  CHECK(order(1, 0.5) != order(2, 0.5));
  CHECK(std::ranges::is_sorted(order(1, 0)));
}

TEST_CASE("Reordered sums complete after later ones, but do complete", "[faulty]") {
  const auto order = order_of_completion({.fault = planned_fault::reordered, .seed = 1}, 10);
  CHECK_FALSE(std::ranges::is_sorted(order));
  const fault_plan always{.fault = planned_fault::reordered, .probability = 1};
  CHECK(order_of_completion(always, 1) == std::vector{0});
  faulty_communicator communicator{loopback{}, always};
  float x = 1, y = 1;
  auto first = communicator.start_sum(std::span(&x, 1)), second = communicator.start_sum(std::span(&y, 1));
  CHECK_FALSE(first.test());
  second.wait();
  CHECK(first.test());
}

TEST_CASE("A rank that drops out throws from then on, and the others hear of it", "[faulty]") {
  const fault_plan plan{.fault = planned_fault::dropped, .rank = 1, .operation = 2};
  std::vector<int> calls(3);
  std::string text;
  int stays_out = 0;
  const auto outcomes = support::outcomes_on_ranks(thread_team{3}, [&](thread_communicator inner) {
    faulty_communicator communicator{inner, plan};
    const auto rank = static_cast<std::size_t>(communicator.rank());
    float x = 1;
    try {
      for (;; ++calls[rank]) communicator.start_sum(std::span(&x, 1)).wait();
    } catch (const planned_dropout& dropout) {  // rank 1
      text = dropout.what();
      stays_out += communicator.struck();
      try {
        communicator.broadcast({}, 0);
      } catch (const planned_dropout&) {
        ++stays_out;
      }
      throw;
    }
  });
  CHECK(calls == std::vector{2, 2, 2});
  CHECK(stays_out == 2);
  CHECK(text == "syncopate: as planned, rank 1 drops out from operation 2 on (seed 0)");
  for (const std::size_t other : {0u, 2u}) {
    CHECK(outcomes[other].kind == support::outcome::peer_failed);
    CHECK_THAT(outcomes[other].text, Catch::Matchers::Contains("rank 1 failed") &&
                                         Catch::Matchers::Contains("as planned, rank 1 drops out from operation 2 on"));
  }
}

TEMPLATE_TEST_CASE("One bit of a header flips, once, on one rank", "[faulty]", float, double) {
  using bits = std::conditional_t<sizeof(TestType) == 4, std::uint32_t, std::uint64_t>;
  std::vector<std::size_t> places;
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    faulty_communicator communicator{
        loopback{}, {.fault = planned_fault::corrupted_header, .seed = seed, .operation = 1, .header_elements = 4}};
    const std::vector<TestType> sent(10, TestType(1.5));
    auto first = sent, second = sent, third = sent;
    for (auto* message : {&first, &second, &third}) communicator.start_sum(std::span(*message)).wait();
    CHECK(first == sent);
    CHECK(third == sent);
    int flipped = 0;
    for (std::size_t i = 0; i < sent.size(); ++i)
      if (const bits changed = std::bit_cast<bits>(sent[i]) ^ std::bit_cast<bits>(second[i])) {
        flipped += std::popcount(changed);
        places.push_back(i);
      }
    CHECK(flipped == 1);
  }
  std::ranges::sort(places);
  places.erase(std::unique(places.begin(), places.end()), places.end());
  CHECK(places == std::vector<std::size_t>{6, 7, 8, 9});
}

TEST_CASE("An empty message has no header to corrupt", "[faulty]") {
  faulty_communicator communicator{loopback{}, {.fault = planned_fault::corrupted_header}};
  communicator.start_sum(std::span<float>()).wait();
  CHECK_FALSE(communicator.struck());
}

TEST_CASE("Calls fail once, where it is planned", "[faulty]") {
  float x = 1;
  const auto text = [](auto call) {
    const auto outcome = support::outcome_of(call);
    return outcome.kind == support::outcome::communication_failed ? outcome.text : "(no communication_error)";
  };
  SECTION("start") {
    faulty_communicator communicator{loopback{}, {.fault = planned_fault::failed_start, .operation = 1}};
    (void)communicator.start_sum(std::span(&x, 1));
    CHECK(text([&] { (void)communicator.start_sum(std::span(&x, 1)); }) ==
          "syncopate: as planned, a sum of rank 0 fails to start from operation 1 on (seed 0)");
    CHECK(communicator.start_sum(std::span(&x, 1)).test());
  }
  SECTION("test") {
    faulty_communicator communicator{loopback{}, {.fault = planned_fault::failed_test, .operation = 1}};
    auto first = communicator.start_sum(std::span(&x, 1)), second = communicator.start_sum(std::span(&x, 1));
    CHECK(first.test());
    CHECK(text([&] { (void)second.test(); }) ==
          "syncopate: as planned, a test of a sum fails on rank 0 from operation 1 on (seed 0)");
    CHECK(second.test());
  }
  SECTION("wait") {
    faulty_communicator communicator{loopback{}, {.fault = planned_fault::failed_wait, .operation = 1}};
    auto first = communicator.start_sum(std::span(&x, 1)), second = communicator.start_sum(std::span(&x, 1));
    first.wait();
    CHECK(text([&] { second.wait(); }) ==
          "syncopate: as planned, waiting for a sum fails on rank 0 from operation 1 on (seed 0)");
    second.wait();
  }
  SECTION("a blocking sum") {
    for (const planned_fault fault : {planned_fault::failed_start, planned_fault::failed_wait}) {
      faulty_communicator communicator{full{}, {.fault = fault}};
      CHECK_THROWS_AS(communicator.sum(std::span(&x, 1)), communication_error);
      communicator.sum(std::span(&x, 1));
    }
  }
}
