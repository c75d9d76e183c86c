// Ranks that do not come, or that go no further. What cannot be tried more than once in a process, or ends one, is in
// tests/lost_rank.
#include <mpi.h>

#include <array>
#include <catch2/catch.hpp>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "syncopate/detail/mpi/communicator.hpp"
#include "syncopate/error.hpp"
#include "ways.hpp"
#include "world.hpp"

namespace {

using namespace syncopate;
using namespace std::chrono_literals;
using detail::mpi_communicator;
using steady = std::chrono::steady_clock;

/// Ranks meet outside of what is tested.
void meet() { MPI_Barrier(MPI_COMM_WORLD); }

/// A way to depend on the other ranks, and what it is called in errors.
struct call {
  std::string text;
  std::function<void(mpi_communicator&)> make;
};

/// What is summed outlives the sum: MPI may still write to it.
std::span<double> new_values(std::size_t size) {
  static std::vector<std::unique_ptr<std::vector<double>>> all;
  return *all.emplace_back(std::make_unique<std::vector<double>>(size, 1));
}

const std::vector<call>& every_call() {
  static const std::vector<call> all{
      {"a sum of 300 doubles", [](mpi_communicator& communicator) { communicator.start_sum(new_values(300)).wait(); }},
      {"a sum of 300 doubles", [](mpi_communicator& communicator) { communicator.sum(new_values(300)); }},
      {"a broadcast of 5 bytes from rank " + std::to_string(ranks_of_world() - 1),
       [](mpi_communicator& communicator) {
         std::array<std::byte, 5> bytes{};
         communicator.broadcast(bytes, communicator.size() - 1);
       }},
      {"an all_gather of 2 bytes per rank", [](mpi_communicator& communicator) {
         std::vector<std::byte> gathered(2 * static_cast<std::size_t>(communicator.size()));
         communicator.all_gather(std::span(gathered).first(2), gathered);
       }}};
  return all;
}

/// Ways that the thread level of MPI allows for.
std::vector<support::mpi_way> possible_ways() {
  int level = 0;
  MPI_Query_thread(&level);
  std::vector<support::mpi_way> ways = support::every_way();
  std::erase_if(ways, [&](const auto& way) {
    return way.options.progress == mpi_progress::on_thread && level < MPI_THREAD_MULTIPLE;
  });
  return ways;
}

/// What a function throws.
template <class Error, class Function>
std::string text_of(Function&& function) {
  try {
    function();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

std::string text_of_failure(int rank, const std::string& what) {
  return "syncopate: rank " + std::to_string(rank) + " failed while other ranks depended on it: " + what;
}

/// "rank 0 waits", "ranks 0, 1 wait"
std::string all_but_the_last_wait() {
  std::string text = "rank";
  for (int rank = 0; rank < ranks_of_world() - 1; ++rank)
    text += (rank > 0 ? ", " : ranks_of_world() > 2 ? "s " : " ") + std::to_string(rank);
  return text + (ranks_of_world() > 2 ? " wait" : " waits");
}

}  // namespace

TEST_CASE("Who waits in vain for the stall limit says from whom nothing came", "[mpi][faults][threading][slow]") {
  const int last = ranks_of_world() - 1;
  if (last == 0) return;
  const auto ways = possible_ways();
  for (std::size_t way = 0; way < ways.size(); ++way) {
    auto [name, options] = ways[way];
    options.stall_limit_seconds = 1;
    for (std::size_t which = 0; which < every_call().size(); ++which) {
      if (which > 0 && way != which) continue;  // each in one way
      const call& tried = every_call()[which];
      INFO(name << ", " << tried.text);
      mpi_communicator communicator(MPI_COMM_WORLD, options);
      communicator.start_sum(new_values(10)).wait();
      meet();
      if (rank_in_world() != last) {
        const auto begin = steady::now();
        const std::string text = text_of<stalled>([&] { tried.make(communicator); });
        const auto time = steady::now() - begin;
        CHECK(text == "syncopate: nothing moved for 1 s in " + tried.text +
                          ", operation 2 of its channel: nothing came from rank " + std::to_string(last) + ", " +
                          all_but_the_last_wait() + " for it");
        CHECK(time >= 1s);
        CHECK(time < 10s);
      }
      meet();
    }
  }
}

TEST_CASE("Who waits in vain says what the others wait for instead", "[mpi][faults][slow]") {
  const int last = ranks_of_world() - 1;
  if (last == 0) return;
  for (auto [name, options] : possible_ways()) {
    INFO(name);
    options.stall_limit_seconds = 1;
    mpi_communicator communicator(MPI_COMM_WORLD, options), other = communicator.duplicate();
    meet();
    const bool elsewhere = rank_in_world() == last;
    const std::string text = text_of<stalled>(
        [&] { elsewhere ? other.start_sum(new_values(7)).wait() : communicator.start_sum(new_values(5)).wait(); });
    if (elsewhere)
      for (int rank = 0; rank < last; ++rank)
        CHECK(text.find(", rank " + std::to_string(rank) +
                        " waits in a sum of 5 doubles, operation 2 of another channel") != std::string::npos);
    else
      CHECK(text == "syncopate: nothing moved for 1 s in a sum of 5 doubles, operation 2 of its channel: " +
                        all_but_the_last_wait() + " for it, rank " + std::to_string(last) +
                        " waits in a sum of 7 doubles, operation 1 of another channel");
    meet();
  }
}

TEST_CASE("A rank that is slow is waited for", "[mpi][faults][slow]") {
  for (auto [name, options] : possible_ways()) {
    INFO(name);
    options.stall_limit_seconds = 2;
    mpi_communicator communicator(MPI_COMM_WORLD, options);
    meet();
    const auto values = new_values(300);
    if (rank_in_world() == 0) std::this_thread::sleep_for(1200ms);  // others have told each other that they wait
    communicator.start_sum(values).wait();
    CHECK(values[299] == communicator.size());
    communicator.duplicate().sum(new_values(3));
  }
}

TEST_CASE("A stall limit of 0 is none", "[mpi][faults]") {
  mpi_communicator communicator(MPI_COMM_WORLD, {.stall_limit_seconds = 0});
  const auto values = new_values(300), more = new_values(300);
  if (rank_in_world() == 0) std::this_thread::sleep_for(100ms);
  communicator.sum(values);
  communicator.start_sum(more).wait();
  CHECK(values[299] == communicator.size());
  CHECK(more[299] == communicator.size());
}

TEST_CASE("A rank that says that it goes no further is felt in what it has not called", "[mpi][faults][threading]") {
  const int failing = ranks_of_world() - 1;
  const std::string expected = text_of_failure(failing, "the disc is full");
  for (const auto& [name, options] : possible_ways())
    for (const call& tried : every_call())
      for (const bool in_flight : {true, false}) {
        INFO(name << ", " << tried.text);
        mpi_communicator communicator(MPI_COMM_WORLD, options), other = communicator.duplicate();
        communicator.start_sum(new_values(10)).wait();
        if (rank_in_world() == failing) {
          if (!in_flight) communicator.fail("syncopate: the disc is full");
          meet();
          if (in_flight) communicator.fail("syncopate: the disc is full");
        } else {
          meet();
          CHECK(text_of<peer_failure>([&] { tried.make(communicator); }) == expected);
          CHECK(text_of<peer_failure>([&] { tried.make(communicator); }) == expected);
          CHECK(text_of<peer_failure>([&] { tried.make(other); }) == expected);
          CHECK(text_of<peer_failure>([&] { other.duplicate(); }) == expected);
        }
        meet();
      }
}

TEST_CASE("Who tests hears of a failure, too", "[mpi][faults]") {
  const int failing = ranks_of_world() - 1;
  for (const auto& [name, options] : possible_ways()) {
    INFO(name);
    mpi_communicator communicator(MPI_COMM_WORLD, options);
    if (rank_in_world() == failing) {
      communicator.fail("no more data");
    } else {
      const auto poll = [&] {
        for (auto request = communicator.start_sum(new_values(300)); !request.test();) std::this_thread::yield();
      };
      CHECK(text_of<peer_failure>(poll) == text_of_failure(failing, "no more data"));
      CHECK(text_of<peer_failure>(poll) == text_of_failure(failing, "no more data"));
    }
    meet();
  }
}

TEST_CASE("What a rank has completed ends well for all, though it fails then", "[mpi][faults]") {
  const int failing = ranks_of_world() - 1;
  for (const auto& [name, options] : possible_ways()) {
    INFO(name);
    mpi_communicator communicator(MPI_COMM_WORLD, options);
    const auto values = new_values(300);
    auto request = communicator.start_sum(values);
    if (rank_in_world() == failing) {
      request.wait();
      communicator.fail("done");
    } else {
      CHECK(text_of<peer_failure>([&] { communicator.start_sum(new_values(300)).wait(); }) ==
            text_of_failure(failing, "done"));
    }
    request.wait();  // they know by now
    CHECK(values[0] == communicator.size());
    CHECK(values[299] == communicator.size());
    meet();
  }
}

TEST_CASE("A failure concerns the duplicates of a communicator, and no others", "[mpi][faults]") {
  const int failing = ranks_of_world() - 1;
  for (const auto& [name, options] : possible_ways()) {
    INFO(name);
    mpi_communicator communicator(MPI_COMM_WORLD, options), duplicate = communicator.duplicate(),
                                                            unrelated(MPI_COMM_WORLD, options);
    if (rank_in_world() == failing)
      duplicate.fail("over");
    else
      CHECK(text_of<peer_failure>([&] { communicator.sum(new_values(300)); }) == text_of_failure(failing, "over"));
    const auto values = new_values(300);
    unrelated.sum(values);
    CHECK(values[299] == communicator.size());
  }
}

TEST_CASE("The first failure that a rank hears of is the one that it passes on", "[mpi][faults]") {
  if (ranks_of_world() < 3) return;
  mpi_communicator communicator(MPI_COMM_WORLD, {});
  const auto hear = [&] { return text_of<peer_failure>([&] { communicator.sum(new_values(3)); }); };
  if (rank_in_world() == 0) communicator.fail(std::string(1000, 'x'));  // which is cut off
  if (rank_in_world() == 1) {
    const std::string text = hear();
    CHECK(text.starts_with(text_of_failure(0, std::string(300, 'x'))));
    communicator.fail(text);
  }
  meet();
  if (rank_in_world() >= 2) CHECK(hear().starts_with(text_of_failure(0, std::string(300, 'x'))));
  communicator.fail("nobody listens any more");
  meet();
}

TEST_CASE("Unfinished sums, and communicators, can be dropped after a failure", "[mpi][faults]") {
  for (const support::mpi_way& way : possible_ways()) {
    INFO(way.name);
    const bool fails = rank_in_world() == ranks_of_world() - 1;
    const auto use = [&] {
      mpi_communicator communicator(MPI_COMM_WORLD, way.options), duplicate = communicator.duplicate();
      auto first = communicator.start_sum(new_values(300));
      if (fails) return communicator.fail("early");
      auto second = duplicate.start_sum(new_values(300));
      second.wait();
    };
    CHECK(text_of<peer_failure>(use) == (fails ? "" : text_of_failure(ranks_of_world() - 1, "early")));
    meet();
  }
}
