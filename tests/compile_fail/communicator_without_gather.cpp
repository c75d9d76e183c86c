// A communicator that cannot gather, so that ranks could not agree on a layout.
// expect: syncopate: the second argument must be a Communicator
#include <syncopate/syncopate.hpp>
#include <vector>

struct alone : syncopate::loopback {
  alone duplicate() const { return {}; }
#ifndef SYNCOPATE_CONTROL
  void all_gather(std::span<const std::byte>, std::span<std::byte>) = delete;
#endif
};

int main() {
  std::vector<float> weights(3);
  auto scheme = syncopate::synchronous_sgd(weights, alone{}, syncopate::sgd{});
}
