// What is said of the costs of sums, and what MPI says when it refuses one.
#include <mpi.h>

#include <array>
#include <catch2/catch.hpp>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "syncopate/detail/mpi/communicator.hpp"
#include "syncopate/error.hpp"
#include "ways.hpp"

namespace {

using namespace syncopate;
using detail::mpi_communicator;

std::uint64_t over_ranks(std::uint64_t value) {
  MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
  return value;
}

}  // namespace

TEMPLATE_TEST_CASE("The bytes that a rank sends are counted", "[mpi][cost]", float, double) {
  const support::mpi_way way = GENERATE(from_range(support::every_way()));
  INFO(way.name);
  mpi_communicator communicator(MPI_COMM_WORLD, way.options);
  CHECK(communicator.cost().bytes_sent == 0);
  const auto ranks = static_cast<std::size_t>(communicator.size());
  for (const std::size_t size : {0u, 1u, 2u, 7u, 1000u, 10'007u}) {
    INFO(size << " elements");
    std::vector<TestType> values(size);
    const auto before = communicator.cost().bytes_sent;
    communicator.start_sum(std::span(values)).wait();
    const auto sent = communicator.cost().bytes_sent - before;
    // 2 (P − 1) / P of the sum, to within an element, or byte, in each round
    const double least =
        2. * static_cast<double>(ranks - 1) * static_cast<double>(size * sizeof(TestType)) / static_cast<double>(ranks);
    CHECK(std::abs(static_cast<double>(sent) - least) <= static_cast<double>(2 * (ranks - 1) * sizeof(TestType)));
    if (communicator.choice(size * sizeof(TestType)).ring())
      CHECK(over_ranks(sent) == 2 * (ranks - 1) * size * sizeof(TestType));

    std::vector<TestType> blocks(size * ranks);
    const auto before_halves = communicator.cost().bytes_sent;
    communicator.start_reduce_scatter(std::span(blocks)).wait();
    CHECK(communicator.cost().bytes_sent - before_halves == (ranks - 1) * size * sizeof(TestType));
    communicator.start_all_gather(std::span(blocks)).wait();
    CHECK(communicator.cost().bytes_sent - before_halves == 2 * (ranks - 1) * size * sizeof(TestType));
  }
}

TEST_CASE("Processor time is counted", "[mpi][cost]") {
  const support::mpi_way way = GENERATE(from_range(support::every_way()));
  INFO(way.name);
  mpi_communicator communicator(MPI_COMM_WORLD, way.options);
  CHECK(communicator.cost().processor_time.count() == 0);
  std::chrono::duration<double> before{0};
  for (int time = 0; time < 5; ++time) {
    std::vector<double> values(20'000, 1);
    communicator.start_sum(std::span(values)).wait();
    communicator.start_sum(std::span(values)).wait();  // a thread tells what a sum took when it begins the next
    CHECK(communicator.cost().processor_time > before);
    before = communicator.cost().processor_time;
  }
  communicator.sum(std::span<double>());
}

TEST_CASE("What MPI refuses is reported with its text and what was tried, whenever it is looked at", "[mpi][cost]") {
  const support::mpi_way way = GENERATE(from_range(support::every_way()));
  INFO(way.name);
  detail::mpi_channel channel(MPI_COMM_WORLD, way.options);
  std::array<double, 200> values{};
  const auto start = [&]() -> detail::mpi_operation& {
    detail::mpi_elements elements = detail::elements_of_mpi(std::span<double>(values));
    elements.type = MPI_DATATYPE_NULL;
    return channel.start(detail::movement::sum, elements, false);
  };
  detail::mpi_operation& awaited = start();
  detail::mpi_operation& tested = start();
  if (channel.size() == 1 && way.options.transport == mpi_transport::ring) {  // a ring of one sends nothing
    detail::mpi_driver::of_process().wait(awaited);
    detail::mpi_driver::of_process().wait(tested);
    return;
  }
  const auto poll = [&] {
    while (!detail::mpi_driver::of_process().test(tested)) continue;
  };
  using Catch::Matchers::Contains;
  using Catch::Matchers::StartsWith;
  const bool ring = detail::choose(way.options, channel.facts(), sizeof values).ring();
  for (int time = 0; time < 2; ++time) {
    CHECK_THROWS_AS(detail::mpi_driver::of_process().wait(awaited), communication_error);
    CHECK_THROWS_WITH(
        detail::mpi_driver::of_process().wait(awaited),
        StartsWith(ring ? "syncopate: MPI could not receive (count " : "syncopate: MPI could not sum (count 200): "));
    CHECK_THROWS_AS(poll(), communication_error);
  }
}

TEST_CASE("A root that is none, and a gather that does not fit, are refused", "[mpi][cost]") {
  const support::mpi_way way = GENERATE(from_range(support::every_way()));
  INFO(way.name);
  mpi_communicator communicator(MPI_COMM_WORLD, way.options);
  std::array<std::byte, 4> bytes{};
  CHECK_THROWS_AS(communicator.broadcast(bytes, communicator.size()), communication_error);
  CHECK_THROWS_WITH(communicator.broadcast(bytes, -5),
                    Catch::Matchers::StartsWith("syncopate: MPI could not broadcast (count 4): "));

  std::vector<std::byte> all(2 * static_cast<std::size_t>(communicator.size()) + 1);
  CHECK_THROWS_AS(communicator.all_gather(std::span(all).first(2), all), communication_error);
  CHECK_THROWS_WITH(communicator.all_gather(std::span(all).first(2), all),
                    "syncopate: an all_gather of 2 bytes per rank from " + std::to_string(communicator.size()) +
                        " ranks does not fit " + std::to_string(all.size()) + " bytes");
  float one = 1;
  communicator.start_sum(std::span(&one, 1)).wait();
  CHECK(one == static_cast<float>(communicator.size()));
}
