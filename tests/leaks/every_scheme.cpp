// One short run of each named scheme on two ranks, saved and resumed in the middle, for valgrind to look at.
#include <cstddef>
#include <cstdio>
#include <string>

#include "../engine/named_schemes.hpp"
#include "../support/training.hpp"
#include "syncopate/communicators/thread_team.hpp"

int main() {
  using W = support::model<float>;
  const W start{W::value_type(1000, 1), W::value_type(3, 1)};
  const auto train = [&](support::any_scheme<W>& scheme, W& weights, int rank) {
    for (int step = 0; step < 6 + rank; ++step) {
      scheme.step(weights, start);
      scheme.poll();
    }
  };
  for (const auto& [name, make] : support::named_schemes<W>()) {
    std::puts(name.c_str());
    syncopate::thread_team{2}.run([&, make = make](syncopate::thread_communicator communicator) {
      W weights = start, out = start;
      auto scheme = make(weights, support::any_communicator(communicator));
      train(scheme, weights, 0);
      const std::string saved = scheme.save(weights);
      auto resumed = make(weights, support::any_communicator(communicator));
      resumed.load(saved, weights);
      train(resumed, weights, communicator.rank());
      resumed.join(weights);
      resumed.consensus(weights, out);
      resumed.checksum(weights);
      resumed.finish(weights);
    });
  }
}
