#include "run.hpp"
#include "run_schemes.hpp"
#include "syncopate/communicators/thread_team.hpp"

namespace fashion_mnist {

std::vector<result> run_on_threads(const options& job, const data_set& training, const data_set& test) {
  std::optional<syncopate::link_model> link;
  if (job.link_gigabits)
    link = {.gigabits_per_second = *job.link_gigabits, .latency_microseconds = job.link_latency_microseconds};
  std::vector<result> results;
  syncopate::thread_team(job.ranks, link).run([&](auto communicator) {
    auto own = run_schemes(job, communicator, training, test);
    if (communicator.rank() == 0) results = std::move(own);
  });
  return results;
}

}  // namespace fashion_mnist
