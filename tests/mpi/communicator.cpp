#include <mpi.h>

#include <algorithm>
#include <array>
#include <boost/mpi/collectives.hpp>
#include <boost/mpi/communicator.hpp>
#include <boost/mpi/nonblocking.hpp>
#include <catch2/catch.hpp>
#include <chrono>
#include <climits>
#include <cmath>
#include <concepts>
#include <cstring>
#include <functional>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "../support/ranks.hpp"
#include "syncopate/communicators/boost_mpi.hpp"
#include "syncopate/concepts.hpp"

namespace {

using Catch::Matchers::Contains;
using syncopate::boost_mpi;

static_assert(syncopate::Communicator<boost_mpi, float>);
static_assert(syncopate::Communicator<boost_mpi, double>);
static_assert(std::copyable<boost_mpi>);
static_assert(!std::copyable<boost_mpi::request>);

/// Small integers, different on each rank and at each place: their sums are exact in any order.
template <class T>
std::vector<T> integers(int rank, std::size_t size) {
  std::vector<T> values(size);
  for (std::size_t i = 0; i < size; ++i) values[i] = static_cast<T>(static_cast<int>(i % 1000) * (rank + 1) - rank);
  return values;
}

template <class T>
std::vector<T> sum_of_integers(int ranks, std::size_t size) {
  std::vector<T> sum(size);
  for (int rank = 0; rank < ranks; ++rank)
    std::ranges::transform(sum, integers<T>(rank, size), sum.begin(), std::plus());
  return sum;
}

/// Numbers whose sum depends on the order of summation.
template <class T>
std::vector<T> awkward_numbers(int rank, std::size_t size) {
  std::mt19937 random(static_cast<unsigned>(rank) + 1);
  std::uniform_real_distribution<double> mantissa(-1, 1);
  std::uniform_int_distribution<int> exponent(-12, 12);
  std::vector<T> numbers(size);
  for (T& x : numbers) x = static_cast<T>(std::ldexp(mantissa(random), exponent(random)));
  return numbers;
}

template <class Communicator, class T>
std::vector<T> summed(Communicator communicator, std::vector<T> values) {
  communicator.start_sum(std::span(values)).wait();
  return values;
}

template <class T>
bool same_bits(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0);
}

void poll(boost_mpi::request& request) {
  while (!request.test()) std::this_thread::yield();
}

}  // namespace

TEMPLATE_TEST_CASE("Sums are right, in one piece and in many", "[boost_mpi]", float, double) {
  const std::size_t size = GENERATE(0u, 1u, 2u, 3u, 4u, 999u, 1000u, 1001u, 3000u, 20011u);
  const std::size_t largest_count = GENERATE(3u, 1000u, std::size_t{INT_MAX});
  const bool polling = GENERATE(false, true);
  const boost::mpi::communicator world;
  boost_mpi communicator(world, {.largest_count = largest_count});
  REQUIRE(communicator.rank() == world.rank());
  REQUIRE(communicator.size() == world.size());

  // a guard on either side must stay as it is
  auto values = integers<TestType>(world.rank(), size);
  values.insert(values.begin(), -1);
  values.push_back(-2);
  auto request = communicator.start_sum(std::span(values).subspan(1, size));
  polling ? poll(request) : request.wait();
  CHECK(request.test());
  request.wait();

  auto expected = sum_of_integers<TestType>(world.size(), size);
  expected.insert(expected.begin(), -1);
  expected.push_back(-2);
  CHECK(values == expected);
}

TEMPLATE_TEST_CASE("Sums are bitwise the same on all ranks", "[boost_mpi]", float, double) {
  // MPI changes its algorithm with the size
  const std::size_t size = GENERATE(1u, 10u, 1000u, 10'007u, 300'007u);
  const std::size_t largest_count = GENERATE(1000u, std::size_t{INT_MAX});
  boost_mpi communicator({}, {.largest_count = largest_count});
  const auto sum = summed(communicator, awkward_numbers<TestType>(communicator.rank(), size));

  auto sum_of_rank_0 = sum;
  communicator.broadcast(std::as_writable_bytes(std::span(sum_of_rank_0)), 0);
  CHECK(same_bits(sum, sum_of_rank_0));
}

TEMPLATE_TEST_CASE("Threads and MPI give the same numbers", "[boost_mpi][thread_team]", float, double) {
  const std::size_t size = GENERATE(1u, 1000u, 50'021u);
  boost_mpi communicator;
  const auto numbers = [&](int rank) {
    return communicator.size() <= 2 ? awkward_numbers<TestType>(rank, size)  // a + b = b + a
                                    : integers<TestType>(rank, size);
  };
  const auto on_mpi = summed(communicator, numbers(communicator.rank()));
  const auto on_threads = support::on_ranks(communicator.size(), [&](syncopate::thread_communicator threads) {
    return summed(threads, numbers(threads.rank()));
  });
  for (const auto& one : on_threads) CHECK(same_bits(one, on_mpi));
}

TEMPLATE_TEST_CASE("Many sums may be in flight, and be waited for in any order", "[boost_mpi]", float, double) {
  constexpr std::size_t in_flight = 60;
  const std::size_t largest_count = GENERATE(7u, std::size_t{INT_MAX});
  boost_mpi communicator({}, {.largest_count = largest_count});
  std::vector<std::vector<TestType>> buffers;
  std::vector<boost_mpi::request> requests;
  for (std::size_t k = 0; k < in_flight; ++k) {
    buffers.push_back(integers<TestType>(communicator.rank(), k));
    requests.push_back(communicator.start_sum(std::span(buffers.back())));
  }
  std::ranges::shuffle(requests, std::mt19937(static_cast<unsigned>(communicator.rank())));
  for (auto& request : requests) communicator.rank() == 1 ? poll(request) : request.wait();
  for (std::size_t k = 0; k < in_flight; ++k) CHECK(buffers[k] == sum_of_integers<TestType>(communicator.size(), k));
}

TEST_CASE("Two thousand small sums of ranks of different speed", "[boost_mpi]") {
  constexpr std::size_t depth = 3;
  boost_mpi communicator;
  std::mt19937 random(static_cast<unsigned>(communicator.rank()));
  std::uniform_int_distribution<int> delay(0, 100 * communicator.rank());
  std::array<std::vector<float>, depth> buffers;
  std::array<std::optional<boost_mpi::request>, depth> ring;
  const auto expected = sum_of_integers<float>(communicator.size(), 5);
  int mistakes = 0;
  for (std::size_t step = 0; step < 2000 + depth; ++step) {
    auto& request = ring[step % depth];
    auto& buffer = buffers[step % depth];
    if (request) {
      step % 2 ? poll(*request) : request->wait();
      mistakes += buffer != expected;
      request.reset();
    }
    if (step >= 2000) continue;
    buffer = integers<float>(communicator.rank(), 5);
    request = communicator.start_sum(std::span(buffer));
    if (step % 50 == 0) std::this_thread::sleep_for(std::chrono::microseconds(delay(random)));
  }
  CHECK(mistakes == 0);
}

TEST_CASE("Broadcast and gather, in one piece and in many", "[boost_mpi]") {
  const std::size_t largest_count = GENERATE(3u, 1000u, std::size_t{INT_MAX});
  const std::size_t size = GENERATE(0u, 1u, 3u, 1000u, 1001u, 5000u);
  boost_mpi communicator({}, {.largest_count = largest_count});
  const auto ranks = static_cast<std::size_t>(communicator.size());
  for (int root = 0; root < communicator.size(); ++root) {
    std::vector<std::byte> bytes(size, std::byte(10 + communicator.rank()));
    communicator.broadcast(bytes, root);
    CHECK(bytes == std::vector<std::byte>(size, std::byte(10 + root)));
  }

  std::vector<std::byte> own(size), all(size * ranks), expected;
  for (std::size_t rank = 0; rank < ranks; ++rank)
    for (std::size_t i = 0; i < size; ++i) expected.push_back(std::byte((i + 100 * rank) % 256));
  std::copy_n(expected.begin() + static_cast<std::ptrdiff_t>(size) * communicator.rank(), size, own.begin());
  communicator.all_gather(own, all);
  CHECK(all == expected);
}

TEST_CASE("Channels do not meet, in whatever order ranks interleave them", "[boost_mpi]") {
  boost_mpi first;
  std::array channels{first, first.duplicate(), boost_mpi()};
  for (int step = 0; step < 50; ++step) {
    std::array<std::vector<double>, 3> values;
    std::vector<boost_mpi::request> requests;
    for (std::size_t k = 0; k < 3; ++k) {
      const std::size_t which = (k + static_cast<std::size_t>(first.rank() + step)) % 3;
      values[which] = std::vector<double>(10, static_cast<double>(which) * 100 + 1);
      requests.push_back(channels[which].start_sum(std::span(values[which])));
    }
    for (auto& request : requests) request.wait();
    for (std::size_t which = 0; which < 3; ++which)
      CHECK(values[which] == std::vector<double>(10, first.size() * (static_cast<double>(which) * 100 + 1)));
  }
}

TEST_CASE("The user's own messages never meet ours", "[boost_mpi]") {
  const boost::mpi::communicator world;
  boost_mpi communicator(world);
  const int next = (world.rank() + 1) % world.size();
  for (int step = 0; step < 50; ++step) {
    std::vector<float> values(100, 1);
    // the user takes whatever comes
    int received = -1;
    std::array user{world.irecv(boost::mpi::any_source, boost::mpi::any_tag, received), world.isend(next, step, 7)};
    std::optional<boost_mpi::request> request;
    int total = 0;
    if (world.rank() % 2 == 0) request = communicator.start_sum(std::span(values));
    boost::mpi::all_reduce(world, 1, total, std::plus<int>());
    if (!request) request = communicator.start_sum(std::span(values));
    std::array<int, 4> facts{};
    communicator.all_gather(std::as_bytes(std::span(&total, 1)),
                            std::as_writable_bytes(std::span(facts)).first(sizeof(int) * std::size_t(world.size())));
    boost::mpi::wait_all(user.begin(), user.end());
    request->wait();
    CHECK(received == 7);
    CHECK(total == world.size());
    CHECK(facts[std::size_t(world.size()) - 1] == world.size());
    CHECK(values == std::vector<float>(100, static_cast<float>(world.size())));
  }
}

TEST_CASE("The user's communicator keeps its own error handler", "[boost_mpi]") {
  boost::mpi::communicator users(boost::mpi::communicator(), boost::mpi::comm_duplicate);
  MPI_Comm_set_errhandler(users, MPI_ERRORS_ARE_FATAL);
  const boost_mpi communicator(users);
  MPI_Errhandler handler{};
  MPI_Comm_get_errhandler(users, &handler);
  CHECK(handler == MPI_ERRORS_ARE_FATAL);
  MPI_Errhandler_free(&handler);
}

TEST_CASE("It may cover part of the ranks, and outlive the communicator it was made from", "[boost_mpi]") {
  const boost::mpi::communicator world;
  std::optional<boost::mpi::communicator> half = world.split(world.rank() % 2);
  const int size = half->size();
  boost_mpi communicator(*half);
  half.reset();
  CHECK(communicator.size() == size);
  CHECK(summed(communicator, std::vector<float>{1}) == std::vector<float>{static_cast<float>(size)});
}

TEST_CASE("Copies name the same channel, which lives as long as one of them or a sum", "[boost_mpi]") {
  std::optional<boost_mpi> original;
  original.emplace();
  boost_mpi copy = *original;
  std::vector<float> a{1}, b{1};
  auto first = copy.rank() % 2 == 0 ? copy.start_sum(std::span(a)) : original->start_sum(std::span(a));
  original.reset();
  auto second = copy.start_sum(std::span(b));
  copy = boost_mpi();
  first.wait();
  second.wait();
  CHECK(a[0] == static_cast<float>(copy.size()));
  CHECK(b[0] == static_cast<float>(copy.size()));
}

TEST_CASE("A request moves, and is complete once it was moved from", "[boost_mpi]") {
  const std::size_t largest_count = GENERATE(3u, 1000u);
  boost_mpi communicator({}, {.largest_count = largest_count});
  std::vector<double> a(10, 1), b(10, 2);
  auto first = communicator.start_sum(std::span(a));
  auto second = communicator.start_sum(std::span(b));
  auto moved = std::move(first);
  CHECK(first.test());  // NOLINT(bugprone-use-after-move): that is the question
  first.wait();
  first = std::move(second);
  CHECK(second.test());  // NOLINT(bugprone-use-after-move)
  moved.wait();
  first.wait();
  CHECK(a == std::vector<double>(10, communicator.size()));
  CHECK(b == std::vector<double>(10, 2. * communicator.size()));
}

TEST_CASE("An unfinished request can be dropped; MPI goes on with its sum", "[boost_mpi]") {
  const boost::mpi::communicator world;
  std::vector<double> values(10, 1);
  {
    boost_mpi communicator(world, {.largest_count = 3});
    auto request = communicator.start_sum(std::span(values));
    if (world.rank() > 0) request.wait();
  }
  // All but the first rank have their sum, so the first one's is on its way. Its memory tells when it is there.
  while (values.back() != world.size()) world.iprobe();
  CHECK(values == std::vector<double>(10, world.size()));
  world.barrier();
}

TEST_CASE("What MPI refuses is reported with its text and what was tried", "[boost_mpi]") {
  boost_mpi communicator;
  std::array<std::byte, 4> bytes{};
  CHECK_THROWS_AS(communicator.broadcast(bytes, communicator.size()), syncopate::communication_error);
  CHECK_THROWS_WITH(communicator.broadcast(bytes, -5),
                    Catch::StartsWith("syncopate: MPI could not broadcast (count 4): ") && Contains("MPI_ERR_ROOT"));
  CHECK_THROWS_AS(boost_mpi(boost::mpi::communicator(MPI_COMM_NULL, boost::mpi::comm_attach)),
                  syncopate::communication_error);
  CHECK(summed(communicator, std::vector<float>{1})[0] == static_cast<float>(communicator.size()));
}

TEST_CASE("Gathers that do not fit and counts that make no sense are refused", "[boost_mpi]") {
  boost_mpi communicator;
  std::vector<std::byte> all(2 * static_cast<std::size_t>(communicator.size()) + 1);
  CHECK_THROWS_AS(communicator.all_gather(std::span(all).first(2), all), syncopate::communication_error);
  CHECK_THROWS_WITH(communicator.all_gather(std::span(all).first(2), all),
                    "syncopate: an all_gather of 2 bytes per rank from " + std::to_string(communicator.size()) +
                        " ranks does not fit " + std::to_string(all.size()) + " bytes");
  CHECK_THROWS_AS(boost_mpi({}, {.largest_count = 0}), syncopate::configuration_error);
  CHECK_THROWS_WITH(boost_mpi({}, {.largest_count = 0}),
                    "syncopate: the largest_count of boost_mpi must be between 1 and INT_MAX, not 0");
  CHECK_THROWS_AS(boost_mpi({}, {.largest_count = std::size_t{INT_MAX} + 1}), syncopate::configuration_error);
}
