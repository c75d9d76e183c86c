#include "syncopate/communicators/thread_team.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <cstring>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "../support/numbers.hpp"
#include "../support/ranks.hpp"
#include "syncopate/concepts.hpp"

namespace {

using namespace std::chrono_literals;
using Catch::Matchers::Contains;
using support::awkward_numbers;
using support::on_ranks;
using support::outcome;
using support::outcome_of;
using support::outcomes_on_ranks;
using syncopate::link_model;
using syncopate::thread_communicator;
using syncopate::thread_team;
using steady = std::chrono::steady_clock;

static_assert(syncopate::ShardingCommunicator<thread_communicator, float>);
static_assert(syncopate::ShardingCommunicator<thread_communicator, double>);
static_assert(!std::copyable<thread_communicator::request>);

double seconds(steady::duration d) { return std::chrono::duration<double>(d).count(); }

/// ((r0 + r1) + r2) + …
template <class T>
std::vector<T> sum_in_rank_order(int ranks, std::size_t size) {
  auto sum = awkward_numbers<T>(0, size);
  for (int rank = 1; rank < ranks; ++rank) {
    const auto summand = awkward_numbers<T>(rank, size);
    for (std::size_t i = 0; i < size; ++i) sum[i] += summand[i];
  }
  return sum;
}

template <class T>
std::vector<T> summed(thread_communicator communicator, std::vector<T> values) {
  communicator.start_sum(std::span(values)).wait();
  return values;
}

/// Waits by asking, as an engine that polls does.
void poll(thread_communicator::request& request) {
  while (!request.test()) std::this_thread::yield();
}

double thread_cpu_seconds() {
  rusage usage{};
  getrusage(RUSAGE_THREAD, &usage);
  const auto total = [](timeval t) { return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec); };
  return total(usage.ru_utime) + total(usage.ru_stime);
}

std::span<const std::byte> bytes_of(const int& value) { return std::as_bytes(std::span(&value, 1)); }

}  // namespace

TEMPLATE_TEST_CASE("Sums are taken in the order of ranks, bitwise the same everywhere", "[thread_team]", float,
                   double) {
  const int ranks = GENERATE(1, 2, 3, 5, 8);
  // around the block length of the summation, and none at all
  const std::size_t size = GENERATE(0u, 1u, 7u, 2048u, 4096u, 4097u, 20000u);
  const auto expected = sum_in_rank_order<TestType>(ranks, size);

  const auto sums = on_ranks(ranks, [&](thread_communicator communicator) {
    return summed(communicator, awkward_numbers<TestType>(communicator.rank(), size));
  });

  CAPTURE(ranks, size);
  REQUIRE(sums.size() == static_cast<std::size_t>(ranks));
  for (const auto& sum : sums)
    CHECK((size == 0 || std::memcmp(sum.data(), expected.data(), size * sizeof(TestType)) == 0));
}

TEMPLATE_TEST_CASE("The halves of a sum together are bitwise the sum", "[thread_team]", float, double) {
  const int ranks = GENERATE(1, 2, 3, 5);
  // blocks of nothing, within a part of the work, of more than one, and at its edge
  const std::size_t block = GENERATE(0u, 1u, 7u, 2048u, 4096u, 6001u);
  const std::size_t size = block * static_cast<std::size_t>(ranks);
  const auto expected = sum_in_rank_order<TestType>(ranks, size);
  const auto right = on_ranks(ranks, [&](thread_communicator communicator) {
    const std::size_t first = static_cast<std::size_t>(communicator.rank()) * block;
    auto values = awkward_numbers<TestType>(communicator.rank(), size);
    communicator.start_reduce_scatter(std::span(values)).wait();
    for (std::size_t i = 0; i < size; ++i)
      if (i < first || i >= first + block) values[i] = TestType(-7);
    auto request = communicator.start_all_gather(std::span(values));
    poll(request);
    return values == expected;
  });
  CAPTURE(ranks, block);
  CHECK(right == std::vector<bool>(static_cast<std::size_t>(ranks), true));
}

TEMPLATE_TEST_CASE("Blocks are exchanged between all ranks", "[thread_team]", float, double) {
  const int ranks = GENERATE(1, 2, 3, 5);
  const std::size_t block = GENERATE(0u, 1u, 7u, 2048u, 4096u, 6001u);
  const auto right = on_ranks(ranks, [&](thread_communicator communicator) {
    const auto all = static_cast<std::size_t>(ranks), rank = static_cast<std::size_t>(communicator.rank());
    auto values = awkward_numbers<TestType>(communicator.rank(), block * all);
    communicator.start_all_to_all(std::span(values)).wait();
    for (std::size_t other = 0; other < all; ++other) {
      const auto from = awkward_numbers<TestType>(static_cast<int>(other), block * all);
      for (std::size_t i = 0; i < block; ++i)
        if (values[other * block + i] != from[rank * block + i]) return false;
    }
    return true;
  });
  CAPTURE(ranks, block);
  CHECK(right == std::vector<bool>(static_cast<std::size_t>(ranks), true));
}

TEST_CASE("What cannot be cut into equal blocks is refused, before anybody waits", "[thread_team]") {
  on_ranks(3, [](thread_communicator communicator) {
    std::vector<float> values(4);
    for (const int call : {0, 1, 2}) try {
        if (call == 0)
          communicator.start_all_gather(std::span(values)).wait();
        else if (call == 1)
          communicator.start_reduce_scatter(std::span(values)).wait();
        else
          communicator.start_all_to_all(std::span(values)).wait();
        throw std::logic_error("it was not refused");
      } catch (const syncopate::communication_error& error) {
        if (error.what() != std::string("syncopate: 4 elements cannot be cut into 3 equal blocks, one for each rank"))
          throw;
      }
    return true;
  });
}

TEST_CASE("The numbers of the test above do depend on the order", "[thread_team]") {
  auto backwards = awkward_numbers<float>(2, 1000);
  for (const int rank : {1, 0}) {
    const auto summand = awkward_numbers<float>(rank, 1000);
    for (std::size_t i = 0; i < 1000; ++i) backwards[i] += summand[i];
  }
  CHECK(backwards != sum_in_rank_order<float>(3, 1000));
}

TEST_CASE("Each rank runs once, on a thread of its own", "[thread_team]") {
  const int ranks = GENERATE(1, 2, 5);
  std::vector<std::thread::id> threads;
  std::vector<int> sizes;
  for (const auto& [rank, size, thread] : on_ranks(ranks, [](thread_communicator communicator) {
         return std::tuple(communicator.rank(), communicator.size(), std::this_thread::get_id());
       })) {
    CHECK(rank == static_cast<int>(sizes.size()));
    CHECK(size == ranks);
    sizes.push_back(size);
    threads.push_back(thread);
  }
  threads.push_back(std::this_thread::get_id());
  std::sort(threads.begin(), threads.end());
  CHECK(std::unique(threads.begin(), threads.end()) == threads.end());
}

TEST_CASE("A team has at least one rank", "[thread_team]") {
  CHECK_THROWS_AS(thread_team(0), syncopate::configuration_error);
  CHECK_THROWS_AS(thread_team(-3), syncopate::configuration_error);
}

TEMPLATE_TEST_CASE("Many sums may be in flight, and be waited for in any order", "[thread_team]", float, double) {
  constexpr std::size_t in_flight = 100;
  const auto right = on_ranks(3, [](thread_communicator communicator) {
    std::vector<std::vector<TestType>> buffers;
    std::vector<thread_communicator::request> requests;
    for (std::size_t k = 0; k < in_flight; ++k) {
      buffers.emplace_back(k, static_cast<TestType>(communicator.rank() + static_cast<int>(k)));
      requests.push_back(communicator.start_sum(std::span(buffers.back())));
    }
    std::shuffle(requests.begin(), requests.end(), std::mt19937(static_cast<unsigned>(communicator.rank())));
    for (auto& request : requests) communicator.rank() == 1 ? poll(request) : request.wait();
    for (std::size_t k = 0; k < in_flight; ++k)
      if (buffers[k] != std::vector<TestType>(k, static_cast<TestType>(3 * static_cast<int>(k) + 3))) return false;
    return true;
  });
  CHECK(right == std::vector{true, true, true});
}

TEST_CASE("Ranks of very different speed get the same sums", "[thread_team]") {
  const auto right = on_ranks(4, [](thread_communicator communicator) {
    std::mt19937 random(static_cast<unsigned>(communicator.rank()));
    std::uniform_int_distribution<int> delay(0, 400 * communicator.rank());  // rank 0 never dawdles
    for (int step = 0; step < 200; ++step) {
      std::vector<float> values(10, static_cast<float>(step * (communicator.rank() + 1)));
      auto request = communicator.start_sum(std::span(values));
      std::this_thread::sleep_for(std::chrono::microseconds(delay(random)));
      request.wait();
      if (values != std::vector<float>(10, static_cast<float>(10 * step))) return false;
    }
    return true;
  });
  CHECK(std::ranges::count(right, true) == 4);
}

TEST_CASE("A rank may run thousands of operations ahead", "[thread_team]") {
  constexpr std::size_t ahead = 5000;
  std::atomic<bool> all_started = false;
  const auto right = on_ranks(3, [&](thread_communicator communicator) {
    for (int k = 0; k < 5; ++k) summed(communicator, std::vector<double>{1});  // the room grows in mid-course
    std::vector<double> values(ahead);
    std::vector<thread_communicator::request> requests;
    if (communicator.rank() == 2)
      while (!all_started) std::this_thread::sleep_for(1ms);
    for (std::size_t k = 0; k < ahead; ++k) {
      values[k] = static_cast<double>(k);
      requests.push_back(communicator.start_sum(std::span(values).subspan(k, 1)));
    }
    if (communicator.rank() == 0) {
      if (requests.back().test()) return false;
      all_started = true;
    }
    for (auto& request : requests) request.wait();
    for (std::size_t k = 0; k < ahead; ++k)
      if (values[k] != 3. * static_cast<double>(k)) return false;
    return true;
  });
  CHECK(right == std::vector{true, true, true});
}

TEST_CASE("Channels do not meet, in whatever order ranks interleave them", "[thread_team]") {
  const auto right = on_ranks(3, [](thread_communicator first) {
    auto second = first.duplicate();
    auto third = second.duplicate();
    if (second.rank() != first.rank() || third.size() != first.size()) return false;
    for (int step = 0; step < 100; ++step) {
      const auto rank = static_cast<double>(first.rank());
      std::array<double, 3> values{rank, rank + 100, rank + 200};
      std::array channels{first, second, third};
      std::vector<thread_communicator::request> requests;
      for (std::size_t k = 0; k < 3; ++k) {
        const std::size_t channel = (k + static_cast<std::size_t>(first.rank() + step)) % 3;
        requests.push_back(channels[channel].start_sum(std::span(values).subspan(channel, 1)));
      }
      for (auto& request : requests) request.wait();
      if (values != std::array<double, 3>{3, 303, 603}) return false;
    }
    return true;
  });
  CHECK(right == std::vector{true, true, true});
}

TEST_CASE("A channel outlives the communicator that it was duplicated from", "[thread_team]") {
  const auto sums = on_ranks(2, [](thread_communicator communicator) {
    std::optional<thread_communicator> original = communicator.duplicate();
    auto copy = original->duplicate();
    original.reset();
    return summed(copy, std::vector<float>{1});
  });
  CHECK(sums == std::vector<std::vector<float>>{{2}, {2}});
}

TEST_CASE("Broadcast and gather", "[thread_team]") {
  const int ranks = GENERATE(1, 2, 3, 5);
  const auto right = on_ranks(ranks, [&](thread_communicator communicator) {
    for (int root = 0; root < ranks; ++root) {
      std::vector<int> values(1000, communicator.rank());
      communicator.broadcast(std::as_writable_bytes(std::span(values)), root);
      if (values != std::vector<int>(1000, root)) return false;

      const int own = 100 * root + communicator.rank();
      std::vector<int> all(static_cast<std::size_t>(ranks));
      communicator.all_gather(bytes_of(own), std::as_writable_bytes(std::span(all)));
      for (int rank = 0; rank < ranks; ++rank)
        if (all[static_cast<std::size_t>(rank)] != 100 * root + rank) return false;
    }
    communicator.broadcast({}, 0);
    communicator.all_gather({}, {});
    return true;
  });
  CHECK(std::ranges::count(right, true) == ranks);
}

TEST_CASE("A broadcast from no rank and a gather that does not fit are refused", "[thread_team]") {
  thread_team(1).run([](thread_communicator communicator) {
    std::array<std::byte, 3> bytes{};
    CHECK_THROWS_AS(communicator.broadcast(bytes, 1), syncopate::communication_error);
    CHECK_THROWS_AS(communicator.broadcast(bytes, -1), syncopate::communication_error);
    CHECK_THROWS_AS(communicator.all_gather(std::span(bytes).first(2), bytes), syncopate::communication_error);
  });
}

// --------------------------------------------------------------------------------------------------------- requests

TEST_CASE("A request moves, and is complete once it was moved from", "[thread_team]") {
  const auto right = on_ranks(2, [](thread_communicator communicator) {
    std::vector<float> a{1}, b{2};
    auto first = communicator.start_sum(std::span(a));
    auto second = communicator.start_sum(std::span(b));
    auto moved = std::move(first);
    if (!first.test()) return false;  // NOLINT(bugprone-use-after-move): that is the question
    first.wait();
    first = std::move(second);
    moved.wait();
    first.wait();
    first.wait();
    return first.test() && a[0] == 2 && b[0] == 4;
  });
  CHECK(right == std::vector{true, true});
}

TEST_CASE("An unfinished request can be dropped, memory and all", "[thread_team]") {
  std::atomic<bool> dropped = false;
  const auto sums = on_ranks(3, [&](thread_communicator communicator) {
    std::vector<double> values(3000, communicator.rank() + 1.);
    if (communicator.rank() == 0) {
      {
        std::vector<double> short_lived(3000, 1.);
        auto request = communicator.start_sum(std::span(short_lived));
      }
      dropped = true;
      values.assign(3000, 6.);
    } else {
      while (!dropped) std::this_thread::sleep_for(1ms);
      communicator.start_sum(std::span(values)).wait();
    }
    return summed(communicator, values);  // the channel still works
  });
  for (const auto& sum : sums) CHECK(sum == std::vector<double>(3000, 18.));
}

TEST_CASE("A finished request outlives its team", "[thread_team]") {
  std::optional<thread_communicator::request> kept;
  std::optional<thread_communicator> communicator_kept;
  std::vector<float> values{21};
  {
    thread_team team{2};
    team.run([&](thread_communicator communicator) {
      if (communicator.rank() == 0) {
        communicator_kept = communicator;
        kept = communicator.start_sum(std::span(values));
      } else {
        summed(communicator, std::vector<float>{21});
      }
    });
  }
  CHECK(kept->test());
  kept->wait();
  CHECK(values[0] == 42);

  // but there is no one left to sum with
  auto late = communicator_kept->start_sum(std::span(values));
  CHECK_THROWS_AS(late.wait(), syncopate::communication_error);
  CHECK_THROWS_AS(late.test(), syncopate::communication_error);
}

// ----------------------------------------------------------------------------------------------------- shared summing

namespace {

constexpr std::size_t large = 100'003;  // elements: many times what a rank sums at a time, and some

template <class T>
bool bitwise_equal(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0;
}

/// Waits for another rank.
void until(const std::atomic<int>& count, int value) {
  while (count < value) std::this_thread::yield();
}

}  // namespace

TEMPLATE_TEST_CASE("Starting a sum leaves it alone, and each rank that tests does its share", "[thread_team]", float,
                   double) {
  const int ranks = GENERATE(1, 2, 3, 5);
  const std::size_t size = static_cast<std::size_t>(ranks) * 50'000;
  const auto expected = sum_in_rank_order<TestType>(ranks, size);
  const bool alone = GENERATE(false, true);  // whether the last rank does the shares of all
  std::atomic<int> tests = 0;

  const auto right = on_ranks(ranks, [&](thread_communicator communicator) {
    const auto own = awkward_numbers<TestType>(communicator.rank(), size);
    auto values = own;
    auto request = communicator.start_sum(std::span(values));
    communicator.all_gather({}, {});  // all have started
    if (!bitwise_equal(values, own)) return false;
    communicator.all_gather({}, {});  // all have looked
    const bool last = communicator.rank() == ranks - 1;
    bool done = last;
    if (!alone) {
      until(tests, communicator.rank());
      done = request.test();
      ++tests;
    } else if (last) {
      for (done = false; !done; ++tests) done = request.test();
    }
    until(tests, ranks);
    return done == last && tests == ranks && request.test() && bitwise_equal(values, expected);
  });

  CAPTURE(ranks, alone);
  CHECK(right == std::vector<bool>(static_cast<std::size_t>(ranks), true));
}

TEMPLATE_TEST_CASE("A rank that does not ask has its sum done by those that do", "[thread_team]", float, double) {
  const int ranks = GENERATE(2, 3, 5);
  const int silent = GENERATE(0, 1);
  const auto expected = sum_in_rank_order<TestType>(ranks, large);
  std::atomic<int> served = 0;
  const auto right = on_ranks(ranks, [&](thread_communicator communicator) {
    auto values = awkward_numbers<TestType>(communicator.rank(), large);
    auto request = communicator.start_sum(std::span(values));
    if (communicator.rank() == silent) {
      until(served, ranks - 1);
      return bitwise_equal(values, expected) && request.test();
    }
    request.wait();
    ++served;
    return bitwise_equal(values, expected);
  });
  CHECK(right == std::vector<bool>(static_cast<std::size_t>(ranks), true));
}

TEST_CASE("A request that is dropped when all have called finishes the sum first", "[thread_team]") {
  const int ranks = GENERATE(1, 2, 3, 5);
  const int droppers = GENERATE_COPY(range(1, ranks + 1));
  const auto expected = sum_in_rank_order<double>(ranks, large);
  std::atomic<int> dropped = 0;
  const auto right = on_ranks(ranks, [&](thread_communicator communicator) {
    auto values = awkward_numbers<double>(communicator.rank(), large);
    std::optional request = communicator.start_sum(std::span(values));
    communicator.all_gather({}, {});  // all have started
    if (communicator.rank() < droppers) {
      request.reset();
      ++dropped;
      return bitwise_equal(values, expected);
    }
    until(dropped, droppers);
    return bitwise_equal(values, expected) && request->test();
  });
  CHECK(right == std::vector<bool>(static_cast<std::size_t>(ranks), true));
}

TEST_CASE("A rank that fails with its share half done spoils nothing", "[thread_team]") {
  const int failing = GENERATE(0, 2);
  const auto expected = sum_in_rank_order<float>(3, large);
  std::array<std::vector<float>, 3> sums;
  const auto outcomes = outcomes_on_ranks(thread_team{3}, [&](thread_communicator communicator) {
    auto values = awkward_numbers<float>(communicator.rank(), large);
    auto request = communicator.start_sum(std::span(values));
    communicator.all_gather({}, {});  // all have started
    request.test();
    if (communicator.rank() == failing) throw std::runtime_error("half done");
    request.wait();
    sums[static_cast<std::size_t>(communicator.rank())] = values;
    summed(communicator, values);
  });
  for (std::size_t rank = 0; rank < 3; ++rank) {
    const bool failed = rank == static_cast<std::size_t>(failing);
    CHECK(outcomes[rank].kind == (failed ? outcome::other : outcome::peer_failed));
    CHECK((failed || bitwise_equal(sums[rank], expected)));
  }
}

TEST_CASE("A large sum and many small ones in flight", "[thread_team]") {
  const int ranks = GENERATE(2, 3, 5);
  const auto expected = sum_in_rank_order<float>(ranks, large);
  const auto expected_small = sum_in_rank_order<double>(ranks, 100);
  const auto right = on_ranks(ranks, [&](thread_communicator communicator) {
    auto one = awkward_numbers<float>(communicator.rank(), large);
    auto small = awkward_numbers<double>(communicator.rank(), 100);
    std::vector<thread_communicator::request> requests;
    for (std::size_t k = 0; k < 100; ++k) {
      if (k == 50) requests.push_back(communicator.start_sum(std::span(one)));
      requests.push_back(communicator.start_sum(std::span(small).subspan(k, 1)));
    }
    std::shuffle(requests.begin(), requests.end(), std::mt19937(static_cast<unsigned>(communicator.rank())));
    for (auto& request : requests) communicator.rank() == 0 ? poll(request) : request.wait();
    return bitwise_equal(one, expected) && bitwise_equal(small, expected_small);
  });
  CHECK(right == std::vector<bool>(static_cast<std::size_t>(ranks), true));
}

TEST_CASE("Ranks that wait, poll, or drop their request and free its memory, as it comes", "[thread_team]") {
  const int ranks = GENERATE(2, 3, 5);
  const auto wrong = on_ranks(ranks, [&](thread_communicator communicator) {
    std::mt19937 random(static_cast<unsigned>(communicator.rank()));
    int mistakes = 0;
    for (int round = 0; round < 300; ++round) {
      const auto size = static_cast<std::size_t>(round % 7) * 5000 + 1;
      std::vector<float> values(size, static_cast<float>(round + communicator.rank()));
      auto request = communicator.start_sum(std::span(values));
      const auto choice = random() % 4;
      if (choice == 0) request.wait();
      if (choice == 1) poll(request);
      if (choice == 2) request.test();
      if (choice >= 2) continue;
      mistakes += values != std::vector<float>(size, static_cast<float>(ranks * round + ranks * (ranks - 1) / 2));
    }
    return mistakes;
  });
  CHECK(wrong == std::vector<int>(static_cast<std::size_t>(ranks), 0));
}

// --------------------------------------------------------------------------------------------------------- failures

TEST_CASE("If ranks call different things, all hear who called what, and nothing is summed", "[thread_team]") {
  std::array<float, 4> values{1, 1, 1, 1};
  std::array<double, 4> doubles{};
  const auto check = [&](auto&& call, std::vector<std::string> parts) {
    values.fill(1);
    std::array<outcome, 3> outcomes;
    thread_team(3).run([&](thread_communicator communicator) {
      summed(communicator, std::vector<float>{1});
      const auto rank = static_cast<std::size_t>(communicator.rank());
      outcomes[rank] = outcome_of([&] { call(communicator); });
      summed(communicator, std::vector<float>{1});  // the channel still works
    });
    for (const auto& [kind, text] : outcomes) {
      CHECK(kind == outcome::communication_failed);
      CHECK(text == outcomes[0].text);
      for (const auto& part : parts) CHECK_THAT(text, Contains(part));
      CHECK_THAT(text, Catch::StartsWith("syncopate: ") && Contains("operation 1"));
    }
    CHECK(values == std::array<float, 4>{1, 1, 1, 1});
  };
  const auto own = [&](thread_communicator communicator) {
    return std::span(values).subspan(static_cast<std::size_t>(communicator.rank()), 1);
  };

  SECTION("sizes") {
    check([&](thread_communicator c) { c.start_sum(c.rank() == 1 ? std::span(values).subspan(1, 0) : own(c)).wait(); },
          {"ranks 0, 2: a sum of 1 floats", "rank 1: a sum of 0 floats"});
  }
  SECTION("element types") {
    check(
        [&](thread_communicator c) {
          c.rank() == 2 ? c.start_sum(std::span(doubles).first(1)).wait() : c.start_sum(own(c)).wait();
        },
        {"ranks 0, 1: a sum of 1 floats", "rank 2: a sum of 1 doubles"});
  }
  SECTION("operations") {
    check(
        [&](thread_communicator c) {
          if (c.rank() == 0)
            c.broadcast(std::as_writable_bytes(own(c)), 0);
          else if (c.rank() == 1)
            c.duplicate();
          else
            poll(*std::make_unique<thread_communicator::request>(c.start_sum(own(c))));
        },
        {"rank 0: a broadcast of 4 bytes from rank 0", "rank 1: a duplicate", "rank 2: a sum of 1 floats"});
  }
  SECTION("roots") {
    check([&](thread_communicator c) { c.broadcast(std::as_writable_bytes(own(c)), c.rank() == 0 ? 0 : 1); },
          {"rank 0: a broadcast of 4 bytes from rank 0", "ranks 1, 2: a broadcast of 4 bytes from rank 1"});
  }
  SECTION("gathers") {
    check(
        [&](thread_communicator c) {
          std::vector<std::byte> all(c.rank() == 0 ? 3 : 6);
          c.all_gather(std::span(all).first(all.size() / 3), all);
        },
        {"rank 0: an all_gather of 1 bytes per rank", "ranks 1, 2: an all_gather of 2 bytes per rank"});
  }
}

TEST_CASE("If a rank throws, the others hear of it, and run throws what it threw", "[thread_team]") {
  const int ranks = GENERATE(2, 3, 5);
  const int failing = GENERATE(0, 1);
  const bool polling = GENERATE(false, true);
  const thread_team team{ranks};
  const auto function = [&](thread_communicator communicator) {
    auto other = communicator.duplicate();
    for (int step = 0;; ++step) {
      std::vector<float> values(100, 1), more(100, 1);
      auto request = communicator.start_sum(std::span(values));  // unfinished when the stack is unwound
      if (communicator.rank() == failing && step == 3) throw std::out_of_range("no more batches");
      auto on_other = other.start_sum(std::span(more));
      polling ? poll(request) : request.wait();
      on_other.wait();
      if (values[0] != static_cast<float>(ranks)) throw std::logic_error("wrong sum");
    }
  };

  CHECK_THROWS_AS(team.run(function), std::out_of_range);
  const auto outcomes = outcomes_on_ranks(team, function);
  for (int rank = 0; rank < ranks; ++rank) {
    const auto& [kind, text] = outcomes[static_cast<std::size_t>(rank)];
    if (rank == failing) {
      CHECK(kind == outcome::other);
    } else {
      CHECK(kind == outcome::peer_failed);
      CHECK(text ==
            "syncopate: rank " + std::to_string(failing) + " failed while other ranks depended on it: no more batches");
    }
  }

  // a run afterwards starts afresh
  for (const auto& sum : on_ranks(team, [](auto c) { return summed(c, std::vector<double>{1}); }))
    CHECK(sum == std::vector<double>{static_cast<double>(ranks)});
}

TEST_CASE("What a rank called before it failed still completes", "[thread_team]") {
  std::vector<float> sums(3);
  const auto outcomes = outcomes_on_ranks(thread_team{3}, [&](thread_communicator communicator) {
    std::vector<float> values{1};
    auto request = communicator.start_sum(std::span(values));
    if (communicator.rank() == 0) throw std::runtime_error("early");
    std::this_thread::sleep_for(30ms);  // rank 0 is gone by now, its vector too
    request.wait();
    sums[static_cast<std::size_t>(communicator.rank())] = values[0];
    communicator.start_sum(std::span(values)).wait();
  });
  CHECK(sums == std::vector<float>{0, 3, 3});
  CHECK(outcomes[1].kind == outcome::peer_failed);
  CHECK(outcomes[2].kind == outcome::peer_failed);
}

TEST_CASE("The failure of a rank is felt in every blocking call", "[thread_team]") {
  const int which = GENERATE(0, 1, 2);
  const auto outcomes = outcomes_on_ranks(thread_team{3}, [&](thread_communicator communicator) {
    if (communicator.rank() == 2) throw 42;  // NOLINT(hicpp-exception-baseclass): also what is no std::exception
    std::array<std::byte, 3> bytes{};
    if (which == 0) communicator.broadcast(bytes, 2);
    if (which == 1) communicator.all_gather(std::span(bytes).first(1), bytes);
    if (which == 2) communicator.duplicate();
  });
  for (const std::size_t rank : {0u, 1u}) {
    CHECK(outcomes[rank].kind == outcome::peer_failed);
    CHECK_THAT(outcomes[rank].text, Contains("rank 2 failed"));
  }
}

TEST_CASE("A rank that returns too early is named", "[thread_team]") {
  const auto outcomes = outcomes_on_ranks(thread_team{3}, [](thread_communicator communicator) {
    const int steps = communicator.rank() == 1 ? 4 : 5;
    for (int step = 0; step < steps; ++step) summed(communicator, std::vector<float>{1});
  });
  CHECK(outcomes[1].kind == outcome::returned);
  for (const std::size_t rank : {0u, 2u}) {
    CHECK((outcomes[rank].kind == outcome::communication_failed || outcomes[rank].kind == outcome::peer_failed));
    CHECK_THAT(outcomes[rank].text, Contains("rank 1 returned without operation 4"));
  }
}

// ------------------------------------------------------------------------------------------------------------- link

TEST_CASE("With a link, a sum takes its time", "[thread_team][link]") {
  const link_model link{.gigabits_per_second = 0.1, .latency_microseconds = 1000};
  constexpr std::size_t size = 125'000;  // 0.5 MB: 2 rounds of 20 + 1 ms on 2 ranks
  const double modelled = link.all_reduce_seconds(size * sizeof(float), 2);
  REQUIRE(modelled == Approx(0.042));
  const bool polling = GENERATE(false, true);

  const auto measured = on_ranks(thread_team(2, link), [&](thread_communicator communicator) {
    std::vector<float> values(size, 1);
    std::vector<double> times;
    for (int repetition = 0; repetition < 5; ++repetition) {
      communicator.all_gather({}, {});  // start together
      const auto start = steady::now();
      auto request = communicator.start_sum(std::span(values));
      while (polling && !request.test()) std::this_thread::sleep_for(200us);
      request.wait();
      times.push_back(seconds(steady::now() - start));
      if (steady::now() < request.landed_at()) times.push_back(-1);
    }
    return times;
  });
  for (const auto& times : measured) {
    CHECK(times.size() == 5);
    CHECK(std::ranges::all_of(times, [&](double time) { return time >= modelled; }));
    CHECK(std::ranges::min(times) < 2 * modelled);
  }
}

TEST_CASE("With a link, each half of a sum takes half of its time", "[thread_team][link]") {
  const link_model link{.gigabits_per_second = 0.1, .latency_microseconds = 0};
  constexpr std::size_t size = 200'000;  // 8 ms each
  const double modelled = link.all_reduce_seconds(size * sizeof(float), 2) / 2;
  const auto measured = on_ranks(thread_team(2, link), [&](thread_communicator communicator) {
    std::vector<float> values(size);
    const auto begin = steady::now();
    auto first = communicator.start_reduce_scatter(std::span(values));
    first.wait();
    auto second = communicator.start_all_gather(std::span(values));
    second.wait();
    return std::pair(seconds(first.landed_at() - begin), seconds(second.landed_at() - first.landed_at()));
  });
  for (const auto& [first, second] : measured) {
    CHECK(first >= 0.99 * modelled);
    CHECK(first < modelled + 1);
    CHECK(second >= 0.99 * modelled);
    CHECK(second < modelled + 1);
  }
}

TEST_CASE("Transfers of all channels follow one another", "[thread_team][link]") {
  const link_model link{.gigabits_per_second = 0.1, .latency_microseconds = 0};
  constexpr std::size_t size = 156'250;  // doubles: 1.25 MB, 100 ms on 2 ranks
  const auto modelled = std::chrono::ceil<steady::duration>(
      std::chrono::duration<double>(link.all_reduce_seconds(size * sizeof(double), 2)));

  const auto landings = on_ranks(thread_team(2, link), [&](thread_communicator first) {
    auto second = first.duplicate();
    std::vector<double> a(size, 1), b(size, 1), c(size, 1);
    const auto before = steady::now();
    std::array requests{first.start_sum(std::span(a)), second.start_sum(std::span(b)), first.start_sum(std::span(c))};
    const bool early = requests[2].test();
    for (auto& request : requests) request.wait();
    return std::tuple(before, early, requests[0].landed_at(), requests[1].landed_at(), requests[2].landed_at(),
                      steady::now());
  });

  for (const auto& [before, early, one, two, three, after] : landings) {
    CHECK_FALSE(early);
    CHECK(one - before >= modelled);
    CHECK(two - one == modelled);  // it started before the first had landed, so exactly then
    CHECK(three - two == modelled);
    CHECK(after >= three);
    CHECK(after - before < 3 * modelled + 1s);
  }
  CHECK(std::get<2>(landings[0]) == std::get<2>(landings[1]));
}

TEST_CASE("A link that was idle starts when the last rank has called", "[thread_team][link]") {
  const link_model link{.gigabits_per_second = 1, .latency_microseconds = 5000};
  const auto times = on_ranks(thread_team(3, link), [&](thread_communicator communicator) {
    std::vector<float> values{1};
    if (communicator.rank() == 2) std::this_thread::sleep_for(50ms);
    const auto called = steady::now();
    auto request = communicator.start_sum(std::span(values));
    request.wait();
    return std::pair(called, request.landed_at());
  });
  const auto last_call = std::max({times[0].first, times[1].first, times[2].first});
  for (const auto& [called, landed] : times) {
    CHECK(landed == times[0].second);
    CHECK(seconds(landed - last_call) >= link.all_reduce_seconds(4, 3));
    CHECK(seconds(landed - last_call) < link.all_reduce_seconds(4, 3) + 1);
  }
}

TEST_CASE("Without a link a sum lands when it is done; one rank alone has nothing to send", "[thread_team][link]") {
  const auto landed_in_time = [](thread_communicator communicator) {
    std::vector<float> values(100, 1);
    const auto before = steady::now();
    auto request = communicator.start_sum(std::span(values));
    request.wait();
    return before <= request.landed_at() && request.landed_at() <= steady::now();
  };
  CHECK(on_ranks(1, landed_in_time) == std::vector{true});
  CHECK(on_ranks(3, landed_in_time) == std::vector{true, true, true});
  CHECK(on_ranks(thread_team(1, link_model{.gigabits_per_second = 1e-6, .latency_microseconds = 1e9}),
                 landed_in_time) == std::vector{true});
}

TEST_CASE("A sum that is done after the link's time lands when it is done", "[thread_team][link]") {
  std::atomic<int> waited = 0;
  const auto landed = on_ranks(thread_team(2, link_model{.gigabits_per_second = 1e9, .latency_microseconds = 0}),
                               [&](thread_communicator communicator) {
                                 std::vector<float> values(100, 1);
                                 auto request = communicator.start_sum(std::span(values));
                                 communicator.all_gather({}, {});  // all have started
                                 if (communicator.rank() == 1) until(waited, 1);
                                 const auto before = steady::now();
                                 request.wait();
                                 ++waited;
                                 return std::tuple(before, request.landed_at(), steady::now());
                               });
  const auto& [before, done, after] = landed[0];
  CHECK(before <= done);
  CHECK(done <= after);
  CHECK(std::get<1>(landed[1]) == done);
}

TEST_CASE("A link next to dead does not overflow the clock", "[thread_team][link]") {
  const auto complete = on_ranks(thread_team(2, link_model{.gigabits_per_second = 1e-300}), [](auto communicator) {
    std::vector<float> values(100, 1), more(100, 1);
    auto first = communicator.start_sum(std::span(values));
    auto second = communicator.start_sum(std::span(more));
    communicator.all_gather({}, {});
    return first.test() || second.test();
  });
  CHECK(complete == std::vector{false, false});
}

TEST_CASE("Broadcasts and gathers do not wait for the link", "[thread_team][link]") {
  const auto in_time = on_ranks(thread_team(2, link_model{.latency_microseconds = 60e6}), [](auto communicator) {
    const auto start = steady::now();
    std::vector<float> values{1};
    auto request = communicator.start_sum(std::span(values));
    communicator.broadcast(std::as_writable_bytes(std::span(&values, 0)), 0);
    communicator.duplicate();
    return !request.test() && steady::now() - start < 10s;
  });
  CHECK(in_time == std::vector{true, true});
}

TEST_CASE("Waiting sleeps", "[thread_team][link]") {
  const auto cpu = on_ranks(thread_team(2, link_model{.latency_microseconds = 50'000}), [](auto communicator) {
    std::vector<float> values{1};
    const double before = thread_cpu_seconds();
    for (int k = 0; k < 3; ++k) communicator.start_sum(std::span(values)).wait();
    if (communicator.rank() == 1) std::this_thread::sleep_for(200ms);  // the other one waits for this rank
    summed(communicator, values);
    return thread_cpu_seconds() - before;
  });
  // of more than 0.5 s
  for (const double used : cpu) CHECK(used < 0.02);
}

TEST_CASE("Computation hides communication", "[thread_team][link]") {
  const auto times = on_ranks(thread_team(2, link_model{.latency_microseconds = 40'000}), [](auto communicator) {
    std::vector<float> values{1};
    communicator.all_gather({}, {});
    const auto start = steady::now();
    auto request = communicator.start_sum(std::span(values));
    std::this_thread::sleep_for(100ms);  // stands for computation
    communicator.all_gather({}, {});
    const auto waited_from = steady::now();
    request.wait();
    return std::pair(request.landed_at() - start, steady::now() - waited_from);
  });
  for (const auto& [transfer, exposed] : times) {
    CHECK(transfer >= 79ms);
    CHECK(exposed < 20ms);
  }
}

// ------------------------------------------------------------------------------------------------------------- soak

TEST_CASE("Twenty thousand small sums, a few in flight", "[thread_team]") {
  constexpr int steps = 20'000;
  constexpr std::size_t depth = 3;
  const auto wrong = on_ranks(3, [](thread_communicator communicator) {
    std::array<std::array<float, 5>, depth> buffers{};
    std::vector<thread_communicator::request> ring;
    ring.reserve(depth);
    int mistakes = 0;
    const auto finish = [&](int step) {
      const std::size_t k = static_cast<std::size_t>(step) % depth;
      ring[k].wait();
      for (const float x : buffers[k]) mistakes += x != static_cast<float>(3 * (step % 1000) + 3);
    };
    for (int step = 0; step < steps; ++step) {
      const std::size_t k = static_cast<std::size_t>(step) % depth;
      if (step >= static_cast<int>(depth)) finish(step - static_cast<int>(depth));
      buffers[k].fill(static_cast<float>(step % 1000 + communicator.rank()));
      auto request = communicator.start_sum(std::span<float>(buffers[k]));
      if (k < ring.size())
        ring[k] = std::move(request);
      else
        ring.push_back(std::move(request));
    }
    for (int step = steps - static_cast<int>(depth); step < steps; ++step) finish(step);
    return mistakes;
  });
  CHECK(wrong == std::vector{0, 0, 0});
}
