// Seeded faults, on threads.
//
//   campaign --count N    seeds 1 to N; prints how they ended
//   campaign --seed N     one of them again, with what each rank said
#include "campaign.hpp"

#include <cstddef>
#include <vector>

#include "syncopate/communicators/thread_team.hpp"

int main(int argc, char** argv) {
  const auto run = [](const faults::trial& t) {
    std::vector<faults::ending> endings(static_cast<std::size_t>(t.ranks));
    syncopate::thread_team{t.ranks}.run([&](const syncopate::thread_communicator& communicator) {
      endings[static_cast<std::size_t>(communicator.rank())] = faults::ending_of(t, communicator);
    });
    return endings;
  };
  return faults::campaign(argc, argv, {1, 2, 3, 5}, run, true);
}
