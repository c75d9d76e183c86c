#include "run.hpp"

#include <chrono>
#include <optional>
#include <span>
#include <utility>

#include "job_communicator.hpp"
#include "make_scheme.hpp"
#include "training.hpp"

namespace fashion_mnist {
namespace {

/// Trains by each chosen scheme in turn, from the same initial weights, as one rank of `communicator`. Collective.
std::vector<result> run_schemes(const options& job, const job_communicator& communicator, const data_set& training,
                                const data_set& test) {
  job_communicator facts = communicator.duplicate();
  const team ranks{.rank = facts.rank(), .size = facts.size(), .sum = [&](std::span<double> numbers) {
                     facts.start_sum(numbers).wait();
                   }};
  std::vector<result> results;
  for (const auto* description : job.schemes) {
    parameters<float> weights = initial_parameters<float>(architecture_of(job), job.seed);
    const auto scheme = make_scheme(job, *description, weights, communicator);
    results.push_back(train(job, *description, ranks, *scheme, weights, training, test));
  }
  return results;
}

}  // namespace

std::vector<result> run_on_threads(const options& job, const data_set& training, const data_set& test) {
  std::optional<syncopate::link_model> link;
  if (job.link_gigabits)
    link = {.gigabits_per_second = *job.link_gigabits, .latency_microseconds = job.link_latency_microseconds};
  std::vector<result> results;
  syncopate::thread_team(job.ranks, link, std::chrono::duration<double>(job.stall_limit_seconds))
      .run([&](syncopate::thread_communicator communicator) {
        auto own = run_schemes(job, job_communicator(communicator), training, test);
        if (communicator.rank() == 0) results = std::move(own);
      });
  return results;
}

#ifdef SYNCOPATE_EXAMPLE_MPI
std::vector<result> run_on_mpi(const options& job, const data_set& training, const data_set& test) {
  return run_schemes(job, job_communicator(syncopate::boost_mpi({}, {.stall_limit_seconds = job.stall_limit_seconds})),
                     training, test);
}
#endif

}  // namespace fashion_mnist
