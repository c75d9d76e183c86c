// Ranks agree on their options when a communicator is made, or learn why not, all of them.
#include <mpi.h>

#include <array>
#include <catch2/catch.hpp>
#include <climits>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <string>

#include "syncopate/detail/mpi/communicator.hpp"
#include "syncopate/error.hpp"
#include "world.hpp"

namespace {

using namespace syncopate;
using detail::mpi_communicator;

/// What making a communicator throws.
std::string refusal(const mpi_options& options, MPI_Comm ranks = MPI_COMM_WORLD) {
  try {
    mpi_communicator(ranks, options);
  } catch (const configuration_error& e) {
    return e.what();
  }
  return "";
}

void check_that_ranks_are_not_confused() {
  mpi_communicator communicator(MPI_COMM_WORLD, {});
  float one = 1;
  communicator.start_sum(std::span(&one, 1)).wait();
  CHECK(one == static_cast<float>(communicator.size()));
}

}  // namespace

TEST_CASE("Options that make no sense are refused on all ranks, whichever has them", "[mpi][agreement]") {
  const auto expect = [](const mpi_options& senseless, const std::string& text) {
    const bool at_fault = rank_in_world() == ranks_of_world() - 1;
    CHECK(refusal(at_fault ? senseless : mpi_options{}) == text);
    CHECK(refusal(senseless) == text);
  };
  const std::string too_many = std::to_string(std::size_t{INT_MAX} + 1);
  expect({.largest_count = 0}, "syncopate: the largest_count of boost_mpi must be between 1 and INT_MAX, not 0");
  expect({.largest_count = std::size_t{INT_MAX} + 1},
         "syncopate: the largest_count of boost_mpi must be between 1 and INT_MAX, not " + too_many);
  expect({.chunk_bytes = 7}, "syncopate: the chunk_bytes of boost_mpi must be between 8 and INT_MAX, not 7");
  expect({.chunk_bytes = std::size_t{INT_MAX} + 1},
         "syncopate: the chunk_bytes of boost_mpi must be between 8 and INT_MAX, not " + too_many);
  expect({.longest_sleep_microseconds = -1},
         "syncopate: the longest_sleep_microseconds of boost_mpi must be between 0 and 1e6, not -1.000000");
  expect({.longest_sleep_microseconds = std::numeric_limits<double>::quiet_NaN()},
         "syncopate: the longest_sleep_microseconds of boost_mpi must be between 0 and 1e6, not nan");
  expect({.stall_limit_seconds = -1},
         "syncopate: the stall_limit_seconds of boost_mpi must be at least 0 and finite, not -1.000000");
  expect({.stall_limit_seconds = std::numeric_limits<double>::infinity()},
         "syncopate: the stall_limit_seconds of boost_mpi must be at least 0 and finite, not inf");
  check_that_ranks_are_not_confused();
}

TEST_CASE("Options that differ between ranks are refused on all ranks, and shown", "[mpi][agreement]") {
  if (ranks_of_world() == 1) return;
  const std::string rest =
      ", chunk_bytes 61440, large_bytes 262144, largest_count 2147483647, "
      "longest_sleep_microseconds 2000.000000, stall_limit_seconds 60.000000";
  std::string others = ranks_of_world() == 2 ? "rank 1" : "ranks 1";
  for (int rank = 2; rank < ranks_of_world(); ++rank) others += ", " + std::to_string(rank);
  CHECK(refusal({.progress = rank_in_world() == 0 ? mpi_progress::on_poll : mpi_progress::automatic}) ==
        "syncopate: ranks were given different mpi_options: rank 0: progress on_poll, transport automatic" + rest +
            "; " + others + ": progress automatic, transport automatic" + rest);

  const bool last = rank_in_world() == ranks_of_world() - 1;
  const auto expect = [&](mpi_options own, const std::string& text) {
    const std::string found = refusal(last ? own : mpi_options{});
    INFO(found);
    CHECK(found.find("; rank " + std::to_string(ranks_of_world() - 1) + ": progress ") != std::string::npos);
    CHECK(found.find(text) != std::string::npos);
    std::string of_rank_0 = found;
    of_rank_0.resize(2000);
    MPI_Bcast(of_rank_0.data(), 2000, MPI_CHAR, 0, MPI_COMM_WORLD);
    CHECK(of_rank_0.c_str() == found);
  };
  expect({.progress = mpi_progress::on_thread}, "progress on_thread");
  expect({.transport = mpi_transport::ring}, "transport ring");
  expect({.transport = mpi_transport::library}, "transport library");
  expect({.chunk_bytes = 1000}, "chunk_bytes 1000");
  expect({.large_bytes = 0}, "large_bytes 0");
  expect({.longest_sleep_microseconds = 0}, "longest_sleep_microseconds 0.000000");
  expect({.largest_count = 17}, "largest_count 17");
  expect({.stall_limit_seconds = 7}, "stall_limit_seconds 7.000000");
  check_that_ranks_are_not_confused();
}

TEST_CASE("What is refused leaves no MPI communicators behind, of which there are only so many", "[mpi][agreement]") {
  for (int time = 0; time < 5000; ++time) REQUIRE(!refusal({.largest_count = 0}, MPI_COMM_SELF).empty());
}

TEST_CASE("Each rank's thread level counts", "[mpi][agreement]") {
  using detail::mpi_rank_facts;
  const auto decide = [](int level, bool main_thread, mpi_progress progress) {
    const mpi_options options{.progress = progress};
    const std::array ranks{mpi_rank_facts{.options = options, .thread_level = MPI_THREAD_MULTIPLE},
                           mpi_rank_facts{.options = options, .thread_level = level, .is_main_thread = main_thread}};
    return detail::facts_of_ranks(ranks);
  };
  CHECK(decide(MPI_THREAD_MULTIPLE, false, mpi_progress::on_thread).threads);
  CHECK(!decide(MPI_THREAD_SERIALIZED, false, mpi_progress::automatic).threads);
  CHECK(!decide(MPI_THREAD_SINGLE, true, mpi_progress::on_poll).threads);
  using Catch::Matchers::EndsWith;
  CHECK_THROWS_WITH(decide(MPI_THREAD_FUNNELED, true, mpi_progress::on_thread),
                    EndsWith("boost::mpi::threading::multiple) (rank 0: MPI_THREAD_MULTIPLE; rank 1: "
                             "MPI_THREAD_FUNNELED)"));
  CHECK_THROWS_WITH(decide(MPI_THREAD_FUNNELED, false, mpi_progress::automatic),
                    EndsWith("boost::mpi::threading::serialized) (rank 0: MPI_THREAD_MULTIPLE; rank 1: "
                             "MPI_THREAD_FUNNELED)"));
}

TEST_CASE("Hosts, their ranks and their cores are counted", "[mpi][agreement]") {
  using detail::mpi_rank_facts;
  const std::array ranks{mpi_rank_facts{.rank_on_host = 0, .ranks_on_host = 2, .cores = 8},
                         mpi_rank_facts{.rank_on_host = 0, .ranks_on_host = 1, .cores = 4},
                         mpi_rank_facts{.rank_on_host = 1, .ranks_on_host = 2, .cores = 8}};
  const detail::mpi_facts facts = detail::facts_of_ranks(ranks);
  CHECK(facts.ranks == 3);
  CHECK(facts.hosts == 2);
  CHECK(facts.ranks_per_host == 2);
  CHECK(facts.cores_per_host == 4);
}
