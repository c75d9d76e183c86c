// Four ranks, one of which is lost: lost_rank killed | fails | not_created | not_duplicated
//
// The others print an error that says so, let go of everything, finalize MPI, and end with 1.
#include <mpi.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <iostream>
#include <span>
#include <string>
#include <vector>

#include "syncopate/detail/mpi/communicator.hpp"
#include "syncopate/error.hpp"

namespace {

using namespace syncopate;
using detail::mpi_communicator;

constexpr int lost = 2;

void use(const std::string& how, const mpi_options& options, std::vector<float>& values) {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == lost && how == "not_created") return;
  mpi_communicator communicator(MPI_COMM_WORLD, options);
  if (rank == lost && how == "not_duplicated") return;
  mpi_communicator duplicate = communicator.duplicate();
  for (int step = 0; step < 100; ++step) {
    auto request = duplicate.start_sum(std::span(values));
    if (rank == lost && step == 50 && how == "killed") std::raise(SIGKILL);
    if (rank == lost && step == 50 && how == "fails") return communicator.fail("no more data");
    request.wait();
  }
}

}  // namespace

int main(int argc, char** argv) {
  int level = 0, rank = 0, ranks = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const char* const expected = std::getenv("SYNCOPATE_TEST_RANKS");
  if (argc != 3 || !expected || std::to_string(ranks) != expected) {
    std::cerr << "lost_rank killed|fails|not_created|not_duplicated poll|thread, on SYNCOPATE_TEST_RANKS ranks\n";
    MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
  }
  const bool threaded = argv[2] == std::string("thread");
  std::vector<float> values(5000);
  int code = EXIT_FAILURE;
  try {
    use(argv[1],
        {.progress = threaded ? mpi_progress::on_thread : mpi_progress::on_poll,
         .transport = threaded ? mpi_transport::ring : mpi_transport::library,
         .stall_limit_seconds = 2},
        values);
    code = EXIT_SUCCESS;
  } catch (const peer_failure& error) {
    std::cout << "rank " + std::to_string(rank) + " peer_failure: " + error.what() + "\n" << std::flush;
  } catch (const stalled& error) {
    std::cout << "rank " + std::to_string(rank) + " stalled: " + error.what() + "\n" << std::flush;
  }
  MPI_Finalize();
  std::cout << "rank " + std::to_string(rank) + " ends with " + std::to_string(code) + "\n" << std::flush;
  return code;
}
