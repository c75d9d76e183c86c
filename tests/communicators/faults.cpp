// Ranks of a team that do not come, or that go no further.
#include <array>
#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "../support/ranks.hpp"
#include "syncopate/communicators/thread_team.hpp"
#include "syncopate/error.hpp"

namespace {

using namespace std::chrono_literals;
using support::on_ranks;
using support::outcome;
using support::outcome_of;
using syncopate::thread_communicator;
using syncopate::thread_team;
using steady = std::chrono::steady_clock;

void until(const std::atomic<int>& count, int value) {
  while (count < value) std::this_thread::yield();
}

/// A way to depend on the other ranks, and what it is called in errors.
struct call {
  const char* text;
  std::function<void(thread_communicator)> make;
};

const std::vector<call>& every_call() {
  static const std::vector<call> all{
      {"a sum of 3 floats",
       [](thread_communicator communicator) {
         std::array<float, 3> values{};
         communicator.start_sum(std::span<float>(values)).wait();
       }},
      {"a broadcast of 5 bytes from rank 1",
       [](thread_communicator communicator) {
         std::array<std::byte, 5> bytes{};
         communicator.broadcast(bytes, 1);
       }},
      {"an all_gather of 2 bytes per rank",
       [](thread_communicator communicator) {
         std::vector<std::byte> gathered(2 * static_cast<std::size_t>(communicator.size()));
         communicator.all_gather(std::span(gathered).first(2), gathered);
       }},
      {"a duplicate", [](thread_communicator communicator) { communicator.duplicate(); }}};
  return all;
}

void sum(thread_communicator communicator) { every_call()[0].make(communicator); }

}  // namespace

// ----------------------------------------------------------------------------------------------------------- stalled

TEST_CASE("A rank that waits in vain for the stall limit says who is missing, and so do all", "[thread_team][faults]") {
  const int ranks = GENERATE(2, 3, 5);
  const int missing = GENERATE(0, 1);
  const bool two_missing = ranks == 5;
  const call& tried = GENERATE(from_range(every_call()));
  const auto absent = [&](int rank) { return rank == missing || (two_missing && rank == 3); };
  std::atomic<int> gave_up = 0;
  const auto all = on_ranks(thread_team{ranks, std::nullopt, 200ms}, [&](thread_communicator communicator) {
    sum(communicator);
    if (absent(communicator.rank())) until(gave_up, two_missing ? 3 : ranks - 1);
    const auto begin = steady::now();
    const outcome found = outcome_of([&] { tried.make(communicator); });
    ++gave_up;
    return std::pair(found, steady::now() - begin);
  });
  for (int rank = 0; rank < ranks; ++rank) {
    const auto& [found, time] = all[static_cast<std::size_t>(rank)];
    CAPTURE(ranks, missing, rank);
    CHECK(found.kind == outcome::stalled);
    CHECK(found.text == std::string("syncopate: nothing moved for 0.2 s in ") + tried.text +
                            ", operation 1 of its channel: " +
                            (two_missing ? "ranks " + std::to_string(missing) + ", 3 have not called it"
                                         : "rank " + std::to_string(missing) + " has not called it"));
    if (!absent(rank)) CHECK(time < 10s);
  }
  CHECK(all[missing == 0 ? 1 : 0].second >= 190ms);  // it was the first to wait, or not long after that
}

TEST_CASE("As long as ranks call something on the channel, nobody gives up", "[thread_team][faults]") {
  constexpr int calls = 5;
  const auto sums = on_ranks(thread_team{2, std::nullopt, 1s}, [](thread_communicator communicator) {
    std::array<float, calls> values{};
    std::vector<thread_communicator::request> requests;
    for (std::size_t k = 0; k < calls; ++k) {
      values[k] = 1;
      if (communicator.rank() == 1) std::this_thread::sleep_for(300ms);
      requests.push_back(communicator.start_sum(std::span(values).subspan(k, 1)));
    }
    requests.back().wait();
    return values.back();
  });
  CHECK(sums == std::vector<float>{2, 2});
}

TEST_CASE("To test is not to wait: there is no limit to it", "[thread_team][faults]") {
  std::atomic<int> tested = 0;
  const auto sums = on_ranks(thread_team{2, std::nullopt, 20ms}, [&](thread_communicator communicator) {
    std::vector<float> values{1};
    if (communicator.rank() == 1) until(tested, 1);
    auto request = communicator.start_sum(std::span(values));
    for (const auto begin = steady::now(); !request.test();)
      if (steady::now() - begin > 100ms) tested = 1;
    return values[0];
  });
  CHECK(sums == std::vector<float>{2, 2});
}

TEST_CASE("A stall limit of 0 is none", "[thread_team][faults]") {
  const auto done = on_ranks(thread_team{2, std::nullopt, 0s}, [](thread_communicator communicator) {
    if (communicator.rank() == 1) std::this_thread::sleep_for(50ms);
    sum(communicator);
    return true;
  });
  CHECK(done == std::vector{true, true});
}

TEST_CASE("A stall limit that makes no sense is refused", "[thread_team][faults]") {
  using seconds = std::chrono::duration<double>;
  for (const double limit : {-1., std::numeric_limits<double>::infinity(), std::nan("")})
    CHECK_THROWS_AS(thread_team(1, std::nullopt, seconds(limit)), syncopate::configuration_error);
  CHECK_THROWS_WITH(thread_team(1, std::nullopt, -1s),
                    "syncopate: the stall limit of a thread_team, in seconds, must be at least 0 and finite, not "
                    "-1.000000");
  thread_team(2, std::nullopt, seconds(1e300)).run(sum);
}

// -------------------------------------------------------------------------------------------------------------- fail

TEST_CASE("A rank that says that it goes no further is felt in every call that it has not made",
          "[thread_team][faults]") {
  const int ranks = GENERATE(2, 3, 5);
  const int failing = GENERATE(0, 1);
  const bool in_flight = GENERATE(false, true);  // whether others are in the call already, or make it later
  const call& tried = GENERATE(from_range(every_call()));
  std::atomic<int> calling = 0, failed = 0, heard = 0;
  const auto all = on_ranks(ranks, [&](thread_communicator communicator) {
    auto other = communicator.duplicate();
    if (communicator.rank() == failing) {
      if (in_flight) until(calling, ranks - 1);
      communicator.fail("syncopate: the disc is full");
      failed = 1;
      until(heard, ranks - 1);  // it has not returned when they hear of it
      return std::vector<outcome>();
    }
    ++calling;
    if (!in_flight) until(failed, 1);
    std::vector<outcome> found{outcome_of([&] { tried.make(communicator); })};
    found.push_back(outcome_of([&] { tried.make(communicator); }));
    found.push_back(outcome_of([&] { tried.make(other); }));
    found.push_back(outcome_of([&] {
      float value = 0;
      auto request = other.start_sum(std::span(&value, 1));
      while (!request.test()) continue;
    }));
    ++heard;
    return found;
  });
  for (const auto& one : all)
    for (const auto& [kind, text] : one) {
      CHECK(kind == outcome::peer_failed);
      CHECK(text == "syncopate: rank " + std::to_string(failing) +
                        " failed while other ranks depended on it: the disc is full");
    }
}

TEST_CASE("What all have called ends well, whoever fails then", "[thread_team][faults]") {
  const int ranks = GENERATE(2, 3, 5);
  std::atomic<int> called = 0, failed = 0;
  const auto all = on_ranks(ranks, [&](thread_communicator communicator) {
    std::vector<float> values(1000, 1);
    auto request = communicator.start_sum(std::span(values));
    ++called;
    until(called, ranks);
    if (communicator.rank() == ranks - 1) {
      communicator.fail("late");
      failed = 1;
    }
    until(failed, 1);
    request.wait();
    return values;
  });
  CHECK(all == std::vector(static_cast<std::size_t>(ranks), std::vector<float>(1000, static_cast<float>(ranks))));
}

TEST_CASE("The first failure is the one that all hear of, and what run throws", "[thread_team][faults]") {
  std::atomic<int> first = 0, second = 0, third = 0;
  std::array<outcome, 3> found;
  const auto function = [&](thread_communicator communicator) {
    if (communicator.rank() == 0) {
      communicator.fail("no more memory");
      first = 1;
      until(third, 1);
      throw std::out_of_range("what rank 0 throws");
    }
    until(communicator.rank() == 1 ? first : second, 1);
    auto& mine = found[static_cast<std::size_t>(communicator.rank())];
    mine = outcome_of([&] { sum(communicator); });
    communicator.fail(mine.text);  // as an engine does while its stack is unwound
    (communicator.rank() == 1 ? second : third) = 1;
    throw std::runtime_error("what the others throw");
  };
  CHECK_THROWS_AS(thread_team(3).run(function), std::out_of_range);
  for (const std::size_t rank : {1u, 2u})
    CHECK(found[rank].text == "syncopate: rank 0 failed while other ranks depended on it: no more memory");
}

TEST_CASE("A rank can say so while an exception unwinds its stack", "[thread_team][faults]") {
  struct guard {
    thread_communicator communicator;
    ~guard() { communicator.fail("unwinding"); }
  };
  const auto outcomes = support::outcomes_on_ranks(thread_team{2}, [](thread_communicator communicator) {
    if (communicator.rank() == 0) {
      const guard says_so{communicator};
      throw std::runtime_error("told later");
    }
    sum(communicator);
  });
  CHECK(outcomes[0].text == "told later");
  CHECK(outcomes[1].text == "syncopate: rank 0 failed while other ranks depended on it: unwinding");
}
