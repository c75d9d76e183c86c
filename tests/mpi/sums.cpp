// What travels over MPI, in every way; here and in the other files of this folder without Boost.MPI, which is built for
// one MPI library only.
#include <mpi.h>

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <climits>
#include <cstddef>
#include <optional>
#include <random>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include "../support/numbers.hpp"
#include "syncopate/concepts.hpp"
#include "syncopate/detail/mpi/communicator.hpp"
#include "ways.hpp"

namespace {

using namespace support;
using syncopate::mpi_options;
using syncopate::detail::mpi_communicator;

static_assert(syncopate::ShardingCommunicator<mpi_communicator, float>);
static_assert(syncopate::ShardingCommunicator<mpi_communicator, double>);
static_assert(std::copyable<mpi_communicator>);
static_assert(!std::copyable<mpi_communicator::request>);

mpi_way any_way() { return GENERATE(from_range(every_way())); }

void poll(mpi_communicator::request& request) {
  while (!request.test()) std::this_thread::yield();
}

template <class T>
std::vector<T> summed(mpi_communicator& communicator, std::vector<T> values) {
  communicator.start_sum(std::span(values)).wait();
  return values;
}

/// A sum with a guard on either side, which must stay as it is.
template <class T>
void check_sum(mpi_communicator& communicator, std::size_t size, bool polling) {
  auto values = integers<T>(communicator.rank(), size);
  values.insert(values.begin(), T(-1));
  values.push_back(T(-2));
  auto request = communicator.start_sum(std::span(values).subspan(1, size));
  polling ? poll(request) : request.wait();
  CHECK(request.test());
  request.wait();

  auto expected = sum_of_integers<T>(communicator.size(), size);
  expected.insert(expected.begin(), T(-1));
  expected.push_back(T(-2));
  CHECK(values == expected);
}

}  // namespace

TEMPLATE_TEST_CASE("Sums of any size are right", "[mpi]", float, double) {
  const mpi_way way = any_way();
  INFO(way.name);
  mpi_communicator communicator(MPI_COMM_WORLD, way.options);
  const auto ranks = static_cast<std::size_t>(communicator.size());
  const std::size_t chunk = way.options.chunk_bytes / sizeof(TestType);
  std::vector<std::size_t> sizes{0, 1, 2, 3, 4, 5, 6, 7, 999, 1000, 1001, 20'011};
  // Blocks of one chunk, of two, and of more than can be under way at once; and what is just not that.
  for (const std::size_t chunks : {1u, 2u, 33u, 64u})
    for (const std::size_t more : {std::size_t{0}, std::size_t{1}, ranks - 1}) {
      sizes.push_back(ranks * chunks * chunk + more);
      sizes.push_back(ranks * chunks * chunk - 1 - more);
    }
  for (const std::size_t size : sizes)
    for (const bool polling : {false, true}) {
      INFO(size << " elements");
      check_sum<TestType>(communicator, size, polling);
    }
}

TEST_CASE("What is more than a call of MPI takes is cut into pieces", "[mpi]") {
  mpi_way way = any_way();
  INFO(way.name);
  way.options.largest_count = GENERATE(3u, 1000u);
  mpi_communicator communicator(MPI_COMM_WORLD, way.options);
  const std::size_t most = way.options.largest_count;
  for (const std::size_t size : {std::size_t{0}, std::size_t{1}, most - 1, most, most + 1, 4 * most, 10 * most + 1}) {
    INFO(size << " elements");
    check_sum<float>(communicator, size, false);
    auto values = integers<float>(communicator.rank(), size);
    communicator.sum(std::span(values));
    CHECK(values == sum_of_integers<float>(communicator.size(), size));
  }
}

TEMPLATE_TEST_CASE("The halves of a sum leave each rank its block, and bring all ranks' blocks to all", "[mpi]", float,
                   double) {
  mpi_way way = any_way();
  INFO(way.name);
  way.options.largest_count = GENERATE(7u, std::size_t{INT_MAX});
  mpi_communicator communicator(MPI_COMM_WORLD, way.options);
  const auto ranks = static_cast<std::size_t>(communicator.size()),
             rank = static_cast<std::size_t>(communicator.rank());
  const std::size_t chunk = way.options.chunk_bytes / sizeof(TestType);
  for (const std::size_t block : {std::size_t{0}, std::size_t{1}, std::size_t{5}, chunk - 1, chunk, chunk + 1,
                                  33 * chunk + 1, std::size_t{2'003}})
    for (const bool polling : {false, true}) {
      INFO("blocks of " << block << " elements");
      const auto finish = [&](mpi_communicator::request request) { polling ? poll(request) : request.wait(); };
      const auto all = sum_of_integers<TestType>(communicator.size(), block * ranks);
      const auto own = [&](std::vector<TestType>& values) { return std::span(values).subspan(rank * block, block); };
      auto values = integers<TestType>(communicator.rank(), block * ranks);
      values.push_back(TestType(-1));
      const std::span<TestType> blocks = std::span(values).first(block * ranks);
      finish(communicator.start_reduce_scatter(blocks));
      CHECK(std::ranges::equal(own(values), std::span(all).subspan(rank * block, block)));
      for (std::size_t other = 0; other < ranks; ++other)
        if (other != rank) std::ranges::fill(blocks.subspan(other * block, block), TestType(-7));
      finish(communicator.start_all_gather(blocks));
      CHECK(std::ranges::equal(blocks, all));
      CHECK(values.back() == TestType(-1));
    }
}

TEMPLATE_TEST_CASE("Sums and their halves may be in flight together", "[mpi]", float, double) {
  const mpi_way way = any_way();
  INFO(way.name);
  mpi_communicator communicator(MPI_COMM_WORLD, way.options);
  const auto ranks = static_cast<std::size_t>(communicator.size()),
             rank = static_cast<std::size_t>(communicator.rank());
  const std::size_t block = 401;
  std::vector<std::vector<TestType>> buffers;
  std::vector<mpi_communicator::request> requests;
  for (int k = 0; k < 30; ++k) {
    auto& values = buffers.emplace_back(integers<TestType>(communicator.rank(), block * ranks));
    requests.push_back(k % 3 == 0   ? communicator.start_sum(std::span(values))
                       : k % 3 == 1 ? communicator.start_reduce_scatter(std::span(values))
                                    : communicator.start_all_gather(std::span(values)));
  }
  std::ranges::shuffle(requests, std::mt19937(static_cast<unsigned>(communicator.rank())));
  for (auto& request : requests) communicator.rank() == 1 ? poll(request) : request.wait();
  const auto sum = sum_of_integers<TestType>(communicator.size(), block * ranks);
  for (std::size_t k = 0; k < buffers.size(); ++k) {
    if (k % 3 == 0) CHECK(buffers[k] == sum);
    if (k % 3 == 1)
      CHECK(std::ranges::equal(std::span(buffers[k]).subspan(rank * block, block),
                               std::span(sum).subspan(rank * block, block)));
    for (std::size_t other = 0; k % 3 == 2 && other < ranks; ++other) {
      const auto from = integers<TestType>(static_cast<int>(other), block * ranks);
      CHECK(std::ranges::equal(std::span(buffers[k]).subspan(other * block, block),
                               std::span(from).subspan(other * block, block)));
    }
  }
}

TEMPLATE_TEST_CASE("Blocks are exchanged between all ranks", "[mpi]", float, double) {
  const mpi_way way = any_way();
  INFO(way.name);
  mpi_communicator communicator(MPI_COMM_WORLD, way.options);
  const auto ranks = static_cast<std::size_t>(communicator.size()),
             rank = static_cast<std::size_t>(communicator.rank());
  for (const std::size_t block : {0u, 1u, 5u, 1'000u, 20'003u}) {
    auto values = integers<TestType>(communicator.rank(), block * ranks);
    auto request = communicator.start_all_to_all(std::span(values));
    communicator.rank() == 1 ? poll(request) : request.wait();
    for (std::size_t other = 0; other < ranks; ++other) {
      const auto from = integers<TestType>(static_cast<int>(other), block * ranks);
      CHECK(std::ranges::equal(std::span(values).subspan(other * block, block),
                               std::span(from).subspan(rank * block, block)));
    }
  }
}

TEST_CASE("What cannot be cut into equal blocks is refused", "[mpi]") {
  mpi_communicator communicator(MPI_COMM_WORLD, any_way().options);
  if (communicator.size() == 1) return;
  std::vector<float> values(static_cast<std::size_t>(communicator.size()) + 1);
  CHECK_THROWS_AS(communicator.start_reduce_scatter(std::span(values)), syncopate::communication_error);
  CHECK_THROWS_AS(communicator.start_all_gather(std::span(values)), syncopate::communication_error);
  CHECK_THROWS_AS(communicator.start_all_to_all(std::span(values)), syncopate::communication_error);
}

TEMPLATE_TEST_CASE("Sums are bitwise the same on all ranks, whoever makes the calls", "[mpi]", float, double) {
  const std::size_t size = GENERATE(1u, 10u, 1000u, 10'007u, 300'007u);  // MPI changes its algorithm with the size
  const auto transport = GENERATE(syncopate::mpi_transport::library, syncopate::mpi_transport::ring);
  std::vector<TestType> first;
  for (const auto progress : {syncopate::mpi_progress::on_poll, syncopate::mpi_progress::on_thread}) {
    mpi_communicator communicator(MPI_COMM_WORLD,
                                  {.progress = progress, .transport = transport, .chunk_bytes = 16 + 2 * size});
    for (int time = 0; time < 3; ++time) {
      auto sum = awkward_numbers<TestType>(communicator.rank(), size);
      auto request = communicator.start_sum(std::span(sum));
      time == communicator.rank() % 3 ? poll(request) : request.wait();
      if (first.empty()) {
        first = sum;
        communicator.broadcast(std::as_writable_bytes(std::span(first)), 0);
      }
      CHECK(same_bits(sum, first));
    }
  }
}

TEMPLATE_TEST_CASE("Many sums may be in flight, and be waited for in any order", "[mpi]", float, double) {
  constexpr std::size_t in_flight = 60;
  const mpi_way way = any_way();
  INFO(way.name);
  mpi_communicator communicator(MPI_COMM_WORLD, way.options);
  std::vector<std::vector<TestType>> buffers;
  std::vector<mpi_communicator::request> requests;
  for (std::size_t k = 0; k < in_flight; ++k) {
    buffers.push_back(integers<TestType>(communicator.rank(), k % 3 == 0 ? 50 * k : k));  // small ones and large ones
    requests.push_back(communicator.start_sum(std::span(buffers.back())));
  }
  std::ranges::shuffle(requests, std::mt19937(static_cast<unsigned>(communicator.rank())));
  for (auto& request : requests) communicator.rank() == 1 ? poll(request) : request.wait();
  for (const auto& buffer : buffers) CHECK(buffer == sum_of_integers<TestType>(communicator.size(), buffer.size()));
}

TEST_CASE("Broadcast and gather, in one piece and in many", "[mpi]") {
  mpi_way way = any_way();
  INFO(way.name);
  way.options.largest_count = GENERATE(3u, 100u, std::size_t{INT_MAX});
  mpi_communicator communicator(MPI_COMM_WORLD, way.options);
  const auto ranks = static_cast<std::size_t>(communicator.size());
  for (const std::size_t size : {0u, 1u, 3u, 100u, 101u, 250u}) {
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
}

TEST_CASE("Channels do not meet, in whatever order ranks interleave them", "[mpi]") {
  const mpi_way way = any_way();
  INFO(way.name);
  mpi_communicator first(MPI_COMM_WORLD, way.options);
  std::array channels{first, first.duplicate(), mpi_communicator(MPI_COMM_WORLD, way.options)};
  for (int step = 0; step < 50; ++step) {
    std::array<std::vector<double>, 3> values;
    std::vector<mpi_communicator::request> requests;
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

TEST_CASE("Who waits for one sum moves those that others wait for", "[mpi]") {
  const mpi_way one = GENERATE(from_range(every_way())), other = GENERATE(from_range(every_way()));
  INFO(one.name << " and " << other.name);
  mpi_communicator first(MPI_COMM_WORLD, one.options), second(MPI_COMM_WORLD, other.options);
  // Rank 0 waits for a sum that the others start only when they have the one that it waits for last.
  for (int step = 0; step < 5; ++step) {
    std::vector<double> a(700, 1), b(700, 2);
    auto of_first = first.start_sum(std::span(a));
    if (first.rank() == 0) {
      second.start_sum(std::span(b)).wait();
      of_first.wait();
    } else {
      of_first.wait();
      second.start_sum(std::span(b)).wait();
    }
    CHECK(a == std::vector<double>(700, first.size()));
    CHECK(b == std::vector<double>(700, 2 * first.size()));
  }
}

TEST_CASE("The user's own messages never meet ours", "[mpi]") {
  const mpi_way way = any_way();
  INFO(way.name);
  mpi_communicator communicator(MPI_COMM_WORLD, way.options);
  const int rank = communicator.rank(), ranks = communicator.size(), next = (rank + 1) % ranks;
  for (int step = 0; step < 50; ++step) {
    std::vector<float> values(100, 1);
    // the user takes whatever comes, with whatever tag
    int received = -1, total = 1;
    std::array<MPI_Request, 2> user{};
    MPI_Irecv(&received, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &user[0]);
    MPI_Isend(&rank, 1, MPI_INT, next, step, MPI_COMM_WORLD, &user[1]);
    std::optional<mpi_communicator::request> request;
    if (rank % 2 == 0) request = communicator.start_sum(std::span(values));
    MPI_Allreduce(MPI_IN_PLACE, &total, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (!request) request = communicator.start_sum(std::span(values));
    std::vector<int> totals(static_cast<std::size_t>(ranks));
    communicator.all_gather(std::as_bytes(std::span(&total, 1)), std::as_writable_bytes(std::span(totals)));
    MPI_Waitall(2, user.data(), MPI_STATUSES_IGNORE);
    request->wait();
    CHECK(received == (rank + ranks - 1) % ranks);
    CHECK(totals == std::vector<int>(totals.size(), ranks));
    CHECK(values == std::vector<float>(100, static_cast<float>(ranks)));
  }
}

TEST_CASE("It may cover part of the ranks, and outlive the communicator it was made from", "[mpi]") {
  const mpi_way way = any_way();
  INFO(way.name);
  int rank = 0, size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm half{};
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
  MPI_Comm_size(half, &size);
  mpi_communicator communicator(half, way.options);
  MPI_Comm_free(&half);
  CHECK(communicator.size() == size);
  CHECK(summed(communicator, std::vector<float>(500, 1)) == std::vector<float>(500, static_cast<float>(size)));
}

TEST_CASE("Copies name the same channel, which lives as long as one of them or a sum", "[mpi]") {
  const mpi_way way = any_way();
  INFO(way.name);
  std::optional<mpi_communicator> original;
  original.emplace(MPI_COMM_WORLD, way.options);
  mpi_communicator copy = *original;
  std::vector<float> a(500, 1), b(500, 1);
  auto first = copy.rank() % 2 == 0 ? copy.start_sum(std::span(a)) : original->start_sum(std::span(a));
  original.reset();
  auto second = copy.start_sum(std::span(b));
  copy = mpi_communicator(MPI_COMM_WORLD, way.options);
  first.wait();
  second.wait();
  CHECK(a == std::vector<float>(500, static_cast<float>(copy.size())));
  CHECK(b == a);
}

TEST_CASE("A request moves, and is complete once it was moved from", "[mpi]") {
  const mpi_way way = any_way();
  INFO(way.name);
  mpi_communicator communicator(MPI_COMM_WORLD, way.options);
  std::vector<double> a(200, 1), b(200, 2);
  auto first = communicator.start_sum(std::span(a));
  auto second = communicator.start_sum(std::span(b));
  auto moved = std::move(first);
  CHECK(first.test());  // NOLINT(bugprone-use-after-move): that is the question
  first.wait();
  first = std::move(second);
  CHECK(second.test());  // NOLINT(bugprone-use-after-move)
  moved.wait();
  first.wait();
  CHECK(a == std::vector<double>(200, communicator.size()));
  CHECK(b == std::vector<double>(200, 2. * communicator.size()));
}

TEST_CASE("An unfinished request can be dropped; its sum goes on", "[mpi]") {
  const mpi_way way = any_way();
  INFO(way.name);
  mpi_communicator communicator(MPI_COMM_WORLD, way.options);
  std::vector<double> values(500, 1);
  {
    mpi_communicator duplicate = communicator.duplicate();
    auto request = duplicate.start_sum(std::span(values));
    if (communicator.rank() > 0) request.wait();
  }
  // The first rank's memory tells when its sum is there. Until then all of them call this library.
  const std::vector<double> expected(500, communicator.size());
  for (double missing = 1; missing > 0;) {
    missing = values == expected ? 0 : 1;
    communicator.start_sum(std::span(&missing, 1)).wait();
  }
  CHECK(values == expected);
}

TEST_CASE("Two threads sum at once, each on a communicator of its own", "[mpi]") {
  const mpi_way way = any_way();
  INFO(way.name);
  std::array communicators{mpi_communicator(MPI_COMM_WORLD, way.options),
                           mpi_communicator(MPI_COMM_WORLD, way.options)};
  std::array<int, 2> mistakes{};
  const auto work = [&](std::size_t which) {
    mpi_communicator& communicator = communicators[which];
    for (std::size_t step = 0; step < 200; ++step) {
      const std::size_t size = step * (which + 1);
      auto a = integers<float>(communicator.rank(), size), b = integers<float>(communicator.rank(), 5);
      auto of_a = communicator.start_sum(std::span(a)), of_b = communicator.start_sum(std::span(b));
      step % 2 == which ? poll(of_a) : of_a.wait();
      of_b.wait();
      mistakes[which] +=
          a != sum_of_integers<float>(communicator.size(), size) || b != sum_of_integers<float>(communicator.size(), 5);
    }
  };
  std::thread second([&] { work(1); });
  work(0);
  second.join();
  CHECK(mistakes == std::array{0, 0});
}
