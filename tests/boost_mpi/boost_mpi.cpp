// `boost_mpi` itself; what it is made of is tested in tests/mpi.
#include "syncopate/communicators/boost_mpi.hpp"

#include <mpi.h>

#include <array>
#include <boost/mpi/collectives.hpp>
#include <boost/mpi/communicator.hpp>
#include <boost/mpi/nonblocking.hpp>
#include <catch2/catch.hpp>
#include <concepts>
#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "../mpi/ways.hpp"
#include "../support/numbers.hpp"
#include "../support/ranks.hpp"
#include "syncopate/concepts.hpp"

namespace {

using namespace support;
using Catch::Matchers::StartsWith;
using syncopate::boost_mpi;

static_assert(syncopate::Communicator<boost_mpi, float>);
static_assert(syncopate::Communicator<boost_mpi, double>);
static_assert(std::copyable<boost_mpi>);
static_assert(!std::copyable<boost_mpi::request>);

template <class Communicator, class T>
std::vector<T> summed(Communicator communicator, std::vector<T> values) {
  communicator.start_sum(std::span(values)).wait();
  return values;
}

}  // namespace

TEST_CASE("It has the ranks that it was made from, by default the world's", "[boost_mpi]") {
  const boost::mpi::communicator world;
  CHECK(boost_mpi().rank() == world.rank());
  CHECK(boost_mpi().size() == world.size());
  std::optional<boost::mpi::communicator> half = world.split(world.rank() % 2);
  const int rank = half->rank(), size = half->size();
  boost_mpi communicator(*half);
  half.reset();  // is not needed any more
  CHECK(communicator.rank() == rank);
  CHECK(communicator.duplicate().size() == size);
  CHECK(summed(communicator, std::vector<float>{1}) == std::vector<float>{static_cast<float>(size)});
}

TEST_CASE("Everything is forwarded, in every way", "[boost_mpi]") {
  const mpi_way way = GENERATE(from_range(every_way()));
  INFO(way.name);
  boost_mpi communicator({}, way.options);
  boost_mpi duplicate = communicator.duplicate();
  const auto ranks = static_cast<std::size_t>(communicator.size());
  for (const std::size_t size : {0u, 1u, 1000u}) {
    auto started = integers<float>(communicator.rank(), size), at_once = started;
    auto of_duplicate = integers<double>(communicator.rank(), size);
    auto request = communicator.start_sum(std::span(started));
    auto other = duplicate.start_sum(std::span(of_duplicate));
    communicator.sum(std::span(at_once));
    while (!request.test()) continue;
    other.wait();
    CHECK(started == sum_of_integers<float>(communicator.size(), size));
    CHECK(at_once == started);
    CHECK(of_duplicate == sum_of_integers<double>(communicator.size(), size));
  }
  CHECK(communicator.cost().processor_time.count() > 0);
  CHECK((communicator.cost().bytes_sent > 0) == (ranks > 1));

  const std::array own{std::byte(communicator.rank())};
  std::vector<std::byte> all(ranks);
  communicator.all_gather(own, all);
  for (std::size_t rank = 0; rank < ranks; ++rank) CHECK(all[rank] == std::byte(rank));
  communicator.broadcast(all, communicator.size() - 1);
  CHECK(all[0] == std::byte(0));
}

TEST_CASE("It explains how sums are done, the same on all ranks", "[boost_mpi]") {
  const mpi_way way = GENERATE(from_range(every_way()));
  boost_mpi communicator({}, way.options);
  for (const std::size_t bytes : {std::size_t{0}, std::size_t{1} << 30}) {
    const std::string text = communicator.explain(bytes);
    if (way.options.progress == syncopate::mpi_progress::automatic)
      CHECK_THAT(text, StartsWith("progress on_poll, since ") || StartsWith("progress on_thread, since "));
    else
      CHECK(text == std::string("progress ") +
                        (way.options.progress == syncopate::mpi_progress::on_poll ? "on_poll" : "on_thread") +
                        ", as it was asked for; transport " +
                        (way.options.transport == syncopate::mpi_transport::ring ? "ring" : "library") +
                        ", as it was asked for");
    std::string of_rank_0 = text;
    boost::mpi::broadcast(boost::mpi::communicator(), of_rank_0, 0);
    CHECK(text == of_rank_0);
  }
}

TEMPLATE_TEST_CASE("Threads and MPI give the same numbers", "[boost_mpi][thread_team]", float, double) {
  const mpi_way way = GENERATE(from_range(every_way()));
  INFO(way.name);
  const std::size_t size = GENERATE(1u, 1000u, 20'021u);
  boost_mpi communicator({}, way.options);
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

TEST_CASE("Boost.MPI's own messages never meet ours", "[boost_mpi]") {
  const mpi_way way = GENERATE(from_range(every_way()));
  INFO(way.name);
  const boost::mpi::communicator world;
  boost_mpi communicator(world, way.options);
  const int next = (world.rank() + 1) % world.size();
  for (int step = 0; step < 50; ++step) {
    std::vector<float> values(100, 1);
    // the user takes whatever comes
    int received = -1, total = 0;
    std::array user{world.irecv(boost::mpi::any_source, boost::mpi::any_tag, received), world.isend(next, step, 7)};
    std::optional<boost_mpi::request> request;
    if (world.rank() % 2 == 0) request = communicator.start_sum(std::span(values));
    boost::mpi::all_reduce(world, 1, total, std::plus<int>());
    if (!request) request = communicator.start_sum(std::span(values));
    boost::mpi::wait_all(user.begin(), user.end());
    request->wait();
    CHECK(received == 7);
    CHECK(total == world.size());
    CHECK(values == std::vector<float>(100, static_cast<float>(world.size())));
  }
}

TEST_CASE("A rank that fails is heard of by the others", "[boost_mpi]") {
  const mpi_way way = GENERATE(from_range(every_way()));
  INFO(way.name);
  static std::vector<std::vector<float>> summed;  // MPI may still write to it
  const boost_mpi communicator({}, way.options);
  if (communicator.rank() == 0) {
    communicator.fail("no more data");
  } else {
    boost_mpi copy = communicator;
    CHECK_THROWS_AS(copy.sum(std::span(summed.emplace_back(500))), syncopate::peer_failure);
    CHECK_THROWS_WITH(copy.duplicate(), "syncopate: rank 0 failed while other ranks depended on it: no more data");
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

TEST_CASE("What makes no sense is refused", "[boost_mpi]") {
  CHECK_THROWS_AS(boost_mpi(boost::mpi::communicator(MPI_COMM_NULL, boost::mpi::comm_attach)),
                  syncopate::communication_error);
  CHECK_THROWS_AS(boost_mpi({}, {.largest_count = 0}), syncopate::configuration_error);
}
