// Seeded faults, on the ranks of MPI, in each way to communicate; see campaign.cpp.
#include <boost/mpi/collectives.hpp>
#include <boost/mpi/communicator.hpp>
#include <boost/mpi/environment.hpp>
#include <boost/serialization/string.hpp>
#include <boost/serialization/vector.hpp>
#include <cstddef>
#include <cstdlib>
#include <string>
#include <vector>

#include "../mpi/ways.hpp"
#include "campaign.hpp"
#include "syncopate/communicators/boost_mpi.hpp"

int main(int argc, char** argv) {
  const boost::mpi::environment environment(argc, argv, boost::mpi::threading::multiple, false);
  const boost::mpi::communicator world;
  const char* const wanted = std::getenv("SYNCOPATE_TEST_RANKS");
  if (wanted && std::to_string(world.size()) != wanted) return 2;

  const auto run = [&](const faults::trial& t) {
    const auto& ways = support::every_way();
    syncopate::mpi_options options = ways[t.plan.seed % ways.size()].options;
    options.stall_limit_seconds = 30;  // a stall says more than the end of the time limit
    faults::ending own = faults::ending_of(t, syncopate::boost_mpi(world, options));
    std::vector<int> kinds;
    std::vector<std::string> texts;
    std::vector<std::vector<double>> weights;
    boost::mpi::all_gather(world, static_cast<int>(own.kind), kinds);
    boost::mpi::all_gather(world, own.text, texts);
    boost::mpi::all_gather(world, own.weights, weights);
    std::vector<faults::ending> endings(kinds.size(), own);
    for (std::size_t rank = 0; rank < kinds.size(); ++rank) {
      endings[rank].kind = static_cast<decltype(own.kind)>(kinds[rank]);
      endings[rank].text = texts[rank];
      endings[rank].weights = weights[rank];
    }
    return endings;
  };
  return faults::campaign(argc, argv, {world.size()}, run, world.rank() == 0);
}
