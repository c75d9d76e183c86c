// The main of the tests on MPI. The number of ranks is expected in SYNCOPATE_TEST_RANKS, so that no test passes on one
// rank by mistake. Whichever rank fails says so and ends the whole job at once: the others would wait for it for ever.
#define CATCH_CONFIG_RUNNER
#include <mpi.h>

#include <boost/mpi/communicator.hpp>
#include <boost/mpi/environment.hpp>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <iostream>
#include <sstream>
#include <streambuf>
#include <string>

#include "syncopate/communicators/boost_mpi.hpp"

namespace {

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
      const boost::mpi::communicator world;
      std::ostringstream text;
      text << "rank " << world.rank() << " of " << world.size() << " failed in \"" << test_case_ << "\"\n"
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

/// Whether boost_mpi refuses to work outside the life of MPI, and says this.
bool refuses(const std::string& advice) {
  try {
    syncopate::boost_mpi communicator;
  } catch (const syncopate::communication_error& e) {
    if (std::string(e.what()).find(advice) != std::string::npos) return true;
    std::cerr << "expected \"" << advice << "\" in \"" << e.what() << "\"\n";
    return false;
  }
  std::cerr << "boost_mpi did not notice that MPI is not there; expected \"" << advice << "\"\n";
  return false;
}

class silence : public std::streambuf {
  int overflow(int character) override { return traits_type::not_eof(character); }
};

int run(int argc, char** argv) {
  const boost::mpi::communicator world;
  const char* const expected = std::getenv("SYNCOPATE_TEST_RANKS");
  if (!expected || std::to_string(world.size()) != expected) {
    if (world.rank() == 0)
      std::cerr << "SYNCOPATE_TEST_RANKS is " << (expected ? expected : "not set") << ", but there are " << world.size()
                << " ranks.\n";
    world.barrier();  // until it is written
    return EXIT_FAILURE;
  }
  silence nothing;
  std::streambuf* const output = world.rank() != 0 ? std::cout.rdbuf(&nothing) : std::cout.rdbuf();
  const int result = Catch::Session().run(argc, argv);  // only rank 0 reports
  std::cout.rdbuf(output);
  return result;
}

}  // namespace

int main(int argc, char** argv) {
  const bool refused_before = refuses("create a boost::mpi::environment first");
  int result = EXIT_FAILURE;
  {
    const boost::mpi::environment environment(argc, argv, boost::mpi::threading::funneled);
    result = run(argc, argv);
    if (result != 0 || !refused_before) MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
  }
  return refuses("finalized already") ? EXIT_SUCCESS : EXIT_FAILURE;
}
