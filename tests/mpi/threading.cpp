// What each thread level of MPI allows for. This program is run at all of them; see main.cpp.
#include <mpi.h>

#include <catch2/catch.hpp>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "syncopate/detail/mpi/communicator.hpp"
#include "syncopate/error.hpp"
#include "ways.hpp"

namespace {

using namespace syncopate;
using detail::mpi_communicator;

int thread_level() {
  int level = 0;
  MPI_Query_thread(&level);
  return level;
}

/// " (ranks 0, 1: MPI_THREAD_FUNNELED)"
std::string levels_of_ranks() {
  int ranks = 1;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  std::string text = ranks == 1 ? " (rank 0" : " (ranks 0";
  for (int rank = 1; rank < ranks; ++rank) text += ", " + std::to_string(rank);
  return text + ": " + detail::text_of_thread_level(thread_level()) + ")";
}

/// Sums some numbers, in steps with polls between them, and returns what is wrong.
std::string fault_of_sums(const mpi_options& options) try {
  mpi_communicator communicator(MPI_COMM_WORLD, options);
  for (int step = 0; step < 20; ++step) {
    std::vector<double> values(500, 1), more(3, 2);
    auto request = communicator.start_sum(std::span(values));
    communicator.start_sum(std::span(more)).wait();
    for (int i = 0; i < 5; ++i) request.test();
    request.wait();
    if (values != std::vector<double>(500, communicator.size()) ||
        more != std::vector<double>(3, 2. * communicator.size()))
      return "a sum is wrong";
  }
  return "";
} catch (const configuration_error& e) {
  return e.what();
}

}  // namespace

TEST_CASE("Every way works in the main thread, or says which thread level it needs", "[mpi][threading]") {
  for (const support::mpi_way& way : support::every_way()) {
    INFO(way.name);
    const bool refused = way.options.progress == mpi_progress::on_thread && thread_level() < MPI_THREAD_MULTIPLE;
    CHECK(fault_of_sums(way.options) ==
          (refused
               ? "syncopate: progress on_thread calls MPI from a thread of its own, but MPI was not initialised for "
                 "that; ask for it with boost::mpi::environment(argc, argv, boost::mpi::threading::multiple)" +
                     levels_of_ranks()
               : ""));
  }
}

TEST_CASE("What is chosen automatically does without a thread where MPI does not allow for one", "[mpi][threading]") {
  const mpi_communicator communicator(MPI_COMM_WORLD, {});
  const auto text = text_of(communicator.choice(std::size_t{1} << 30));
  const bool refused = text.starts_with("progress on_poll, since MPI was not initialised with MPI_THREAD_MULTIPLE; ");
  CHECK(refused == (thread_level() < MPI_THREAD_MULTIPLE));
}

TEST_CASE("Every way works in another thread, or says which thread level it needs", "[mpi][threading]") {
  for (const support::mpi_way& way : support::every_way()) {
    if (way.options.progress == mpi_progress::on_thread && thread_level() < MPI_THREAD_MULTIPLE) continue;
    INFO(way.name);
    std::string fault;
    std::thread([&] { fault = fault_of_sums(way.options); }).join();
    CHECK(fault == (thread_level() < MPI_THREAD_SERIALIZED
                        ? "syncopate: boost_mpi was made by another thread than the main one, but MPI was not "
                          "initialised for that; ask for it with boost::mpi::environment(argc, argv, "
                          "boost::mpi::threading::serialized)" +
                              levels_of_ranks()
                        : ""));
  }
}
