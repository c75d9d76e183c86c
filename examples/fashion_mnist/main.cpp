/// Trains a network on Fashion-MNIST by one of syncopate's schemes, or by all of them, and shows what each hides.

#include <cstdlib>
#include <exception>
#include <fstream>
#include <iostream>
#include <limits>
#include <optional>
#include <string>

#include "blas_threads.hpp"
#include "data.hpp"
#include "options.hpp"
#include "report.hpp"
#include "run.hpp"
#include "syncopate/error.hpp"

#ifdef SYNCOPATE_EXAMPLE_MPI
#include <boost/mpi/collectives.hpp>
#include <boost/mpi/communicator.hpp>
#include <boost/mpi/environment.hpp>
#endif

namespace {

using namespace fashion_mnist;

/// This process among those that MPI started; it is alone where MPI started none.
class processes {
 public:
  processes([[maybe_unused]] int& argc, [[maybe_unused]] char**& argv) {
#ifdef SYNCOPATE_EXAMPLE_MPI
    if (launched_by_mpi() || asks_for_mpi(argc, argv))
      environment_.emplace(argc, argv, boost::mpi::threading::multiple);
#endif
  }

#ifdef SYNCOPATE_EXAMPLE_MPI
  std::optional<int> count() const {
    return environment_ ? std::optional(boost::mpi::communicator().size()) : std::nullopt;
  }
  int rank() const { return environment_ ? boost::mpi::communicator().rank() : 0; }

  /// The lowest rank of those that failed; nothing if none did. Collective.
  std::optional<int> first_failed(bool failed) const {
    if (!environment_) return failed ? std::optional(0) : std::nullopt;
    const boost::mpi::communicator world;
    const int first = boost::mpi::all_reduce(world, failed ? world.rank() : world.size(), boost::mpi::minimum<int>());
    return first < world.size() ? std::optional(first) : std::nullopt;
  }

  /// Ends all processes: others may wait for this one for ever.
  void abort() const {
    if (environment_) boost::mpi::environment::abort(EXIT_FAILURE);
  }

 private:
  /// What a launcher of MPI leaves in the environment of the processes that it starts.
  static bool launched_by_mpi() {
    for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMIX_RANK"})
      if (std::getenv(name) != nullptr) return true;
    return false;
  }

  /// MPI must be started before the command line is read in full, which needs the number of ranks.
  static bool asks_for_mpi(int argc, char** argv) {
    for (int i = 1; i < argc; ++i) {
      const std::string word = argv[i], next = i + 1 < argc ? argv[i + 1] : "";
      if (word == "--communicator=mpi" || (word == "--communicator" && next == "mpi")) return true;
    }
    return false;
  }

  std::optional<boost::mpi::environment> environment_;
#else
  std::optional<int> count() const { return std::nullopt; }
  int rank() const { return 0; }
  std::optional<int> first_failed(bool failed) const { return failed ? std::optional(0) : std::nullopt; }
  void abort() const {}
#endif
};

/// What a job needs before it can start.
struct input {
  std::ofstream json;
  data_set training, test;
};

input prepare(const options& job, bool reports) {
  input in;
  if (job.json && reports) {  // now, not after minutes of training
    in.json.open(*job.json);
    if (!in.json) throw syncopate::error("syncopate: " + job.json->string() + " cannot be opened for writing.");
  }
  const auto at_most = [](std::size_t n) { return n > 0 ? n : std::numeric_limits<std::size_t>::max(); };
  in.training = read_training_set(job.data, at_most(job.training_samples));
  in.test = read_test_set(job.data, at_most(job.test_samples));
  if (in.training.size() < job.batch * static_cast<std::size_t>(job.ranks))
    throw syncopate::configuration_error("syncopate: " + std::to_string(in.training.size()) +
                                         " training samples do not fill one step of " + std::to_string(job.ranks) +
                                         " ranks with " + std::to_string(job.batch) + " samples each.");
  return in;
}

void run(const options& job, input& in, bool reports) {
#ifdef SYNCOPATE_EXAMPLE_MPI
  const auto results = (job.communicator == transport::mpi ? run_on_mpi : run_on_threads)(job, in.training, in.test);
#else
  const auto results = run_on_threads(job, in.training, in.test);
#endif
  if (!reports) return;
  print_table(std::cout, job, results);
  if (job.json) {
    print_json(in.json, results);
    if (!in.json.flush()) throw syncopate::error("syncopate: " + job.json->string() + " cannot be written.");
  }
}

constexpr int wrong_options = 2;

}  // namespace

int main(int argc, char** argv) {
  const processes world(argc, argv);
  const int rank = world.rank();
  use_one_blas_thread();

  std::optional<options> job;
  try {
    job = parse_options(argc, argv, world.count(), rank == 0);
  } catch (const std::exception& error) {  // the same on all ranks: one says so, all stop
    if (rank == 0) std::cerr << error.what() << "\n";
    return wrong_options;
  }
  if (!job) return EXIT_SUCCESS;

  input in;
  std::string fault;
  try {
    in = prepare(*job, rank == 0);
  } catch (const std::exception& error) {
    fault = error.what();
  }
  if (const auto failed = world.first_failed(!fault.empty())) {
    if (rank == *failed) std::cerr << fault << "\n";
    return EXIT_FAILURE;
  }

  try {
    run(*job, in, rank == 0);
  } catch (const syncopate::communication_error& error) {  // the other ranks hear of it by themselves
    std::cerr << "rank " + std::to_string(rank) + ": " + error.what() + "\n" << std::flush;
    return EXIT_FAILURE;
  } catch (const std::exception& error) {
    std::cerr << error.what() << std::endl;
    world.abort();
    return EXIT_FAILURE;
  }
  return EXIT_SUCCESS;
}
