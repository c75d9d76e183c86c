// The main of the tests on MPI. The number of ranks is expected in SYNCOPATE_TEST_RANKS, so that no test passes on one
// rank by mistake, and the thread level to ask MPI for in SYNCOPATE_TEST_THREADING (by default MPI_THREAD_MULTIPLE).
// Whichever rank fails says so and ends the whole job at once: the others would wait for it for ever.
#define CATCH_CONFIG_EXTERNAL_INTERFACES
#include <mpi.h>

#include <catch2/catch.hpp>
#include <cstddef>
#include <cstdlib>
#include <iostream>
#include <span>
#include <sstream>
#include <streambuf>
#include <string>

#include "../support/run_tests.hpp"
#include "syncopate/detail/mpi/communicator.hpp"
#include "syncopate/detail/mpi/driver.hpp"
#include "world.hpp"

namespace {

using namespace syncopate;

#if CATCH_VERSION_MAJOR >= 3
using listener_base = Catch::EventListenerBase;
using listener_result = void;
#else
using listener_base = Catch::TestEventListenerBase;
using listener_result = bool;
#endif

/// Ends the job at the first failure, before destructors get to wait for ranks that are elsewhere.
class abort_on_failure : public listener_base {
 public:
  using listener_base::listener_base;

  void testCaseStarting(const Catch::TestCaseInfo& info) override { test_case_ = info.name; }

  listener_result assertionEnded(const Catch::AssertionStats& stats) override {
    const auto& result = stats.assertionResult;
    if (!result.isOk()) {
      for (const auto& info : stats.infoMessages)  // mpirun ends this rank, since another one has failed
        if (info.message.find("SIGTERM") != std::string::npos) std::_Exit(EXIT_FAILURE);
      std::ostringstream text;
      text << "rank " << rank_in_world() << " of " << ranks_of_world() << " failed in \"" << test_case_ << "\"\n"
           << result.getSourceInfo() << ": " << result.getExpressionInMacro() << "\n"
           << "  with expansion: " << result.getExpandedExpression() << "\n";
      for (const auto& info : stats.infoMessages) text << "  " << info.message << "\n";
      std::cerr << text.str() << std::flush;
      MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
    }
    return listener_result();
  }

 private:
  std::string test_case_;
};
CATCH_REGISTER_LISTENER(abort_on_failure)

class silence : public std::streambuf {
  int overflow(int character) override { return traits_type::not_eof(character); }
};

/// The thread level that SYNCOPATE_TEST_THREADING names.
int wanted_thread_level() {
  const char* const name = std::getenv("SYNCOPATE_TEST_THREADING");
  const std::string wanted = name ? name : "multiple";
  if (wanted == "single") return MPI_THREAD_SINGLE;
  if (wanted == "funneled") return MPI_THREAD_FUNNELED;
  if (wanted == "serialized") return MPI_THREAD_SERIALIZED;
  if (wanted == "multiple") return MPI_THREAD_MULTIPLE;
  std::cerr << "SYNCOPATE_TEST_THREADING must be single, funneled, serialized or multiple, not " << wanted << "\n";
  std::exit(EXIT_FAILURE);
}

/// What is wrong with how the program was started, or nothing.
std::string fault_of_start(int thread_level) {
  const char* const ranks = std::getenv("SYNCOPATE_TEST_RANKS");
  if (!ranks || std::to_string(ranks_of_world()) != ranks)
    return std::string("SYNCOPATE_TEST_RANKS is ") + (ranks ? ranks : "not set") + ", but there are " +
           std::to_string(ranks_of_world()) + " ranks";
  if (thread_level != wanted_thread_level())
    return std::string("MPI provides ") + detail::text_of_thread_level(thread_level) + ", but was asked for " +
           detail::text_of_thread_level(wanted_thread_level());
  return "";
}

int run(int argc, char** argv, int thread_level) {
  if (const std::string fault = fault_of_start(thread_level); !fault.empty()) {
    if (rank_in_world() == 0) std::cerr << fault << "\n";
    MPI_Barrier(MPI_COMM_WORLD);  // until it is written
    return EXIT_FAILURE;
  }
  silence nothing;
  std::streambuf* const output = rank_in_world() != 0 ? std::cout.rdbuf(&nothing) : std::cout.rdbuf();
  const int result = support::run_tests(argc, argv);  // only rank 0 reports
  std::cout.rdbuf(output);
  return result;
}

/// Whether a function throws a `communication_error` that says this.
template <class Function>
bool refuses(const std::string& advice, Function&& function) {
  try {
    function();
  } catch (const communication_error& e) {
    if (std::string(e.what()).find(advice) != std::string::npos) return true;
    std::cerr << "expected \"" << advice << "\" in \"" << e.what() << "\"\n";
    return false;
  }
  std::cerr << "nobody said \"" << advice << "\"\n";
  return false;
}

void make_communicator() { detail::mpi_communicator(MPI_COMM_WORLD, {}); }

/// A thread that some ranks start, and others do not, is nobody else's business: the others do nothing but wait for a
/// message of the user's. Called first, so that no thread is there yet.
void start_a_thread_on_rank_0_only() {
  int token = 0;
  if (rank_in_world() > 0) {
    MPI_Recv(&token, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return;
  }
  detail::mpi_communicator alone(MPI_COMM_SELF, {.progress = mpi_progress::on_thread});
  float value = 1;
  alone.start_sum(std::span(&value, 1)).wait();
  for (int rank = 1; rank < ranks_of_world(); ++rank) MPI_Send(&token, 1, MPI_INT, rank, 0, MPI_COMM_WORLD);
}

/// A sum that never ends.
class endless final : public detail::mpi_operation {
  detail::mpi_advance advance() override { return detail::mpi_advance::nothing; }
  std::size_t bytes_sent() const override { return 0; }
};

}  // namespace

int main(int argc, char** argv) {
  bool good = refuses("create a boost::mpi::environment first", make_communicator);

  int thread_level = 0;
  MPI_Init_thread(&argc, &argv, wanted_thread_level(), &thread_level);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);  // as boost::mpi::environment does
  if (thread_level == MPI_THREAD_MULTIPLE) start_a_thread_on_rank_0_only();
  good = run(argc, argv, thread_level) == EXIT_SUCCESS && good;
  if (!good) MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);

  detail::mpi_traffic traffic;
  endless polled, threaded;
  polled.prepare(traffic, false);
  threaded.prepare(traffic, true);
  detail::mpi_driver::of_process().start_polled(polled);
  detail::mpi_driver::of_process().start_threaded(threaded, std::chrono::microseconds(100));
  MPI_Finalize();
  for (endless* in_flight : {&polled, &threaded})
    good = refuses("MPI was finalized while a sum was in flight",
                   [&] { detail::mpi_driver::of_process().wait(*in_flight); }) &&
           good;
  good = refuses("finalized already", make_communicator) && good;
  return good ? EXIT_SUCCESS : EXIT_FAILURE;
}
