// A communicator that sums, but not by halves.
// expect: syncopate: an averaging whose work ranks share needs a ShardingCommunicator
#include <cstddef>
#include <span>
#include <syncopate/syncopate.hpp>
#include <vector>

struct whole_sums {
  static int rank() { return 0; }
  static int size() { return 1; }
  static whole_sums duplicate() { return {}; }
  template <syncopate::Element T>
  syncopate::loopback::request start_sum(std::span<T>) {
    return {};
  }
  void broadcast(std::span<std::byte>, int) {}
  void all_gather(std::span<const std::byte>, std::span<std::byte>) {}
#ifdef SYNCOPATE_CONTROL
  template <syncopate::Element T>
  syncopate::loopback::request start_reduce_scatter(std::span<T>) {
    return {};
  }
  template <syncopate::Element T>
  syncopate::loopback::request start_all_gather(std::span<T>) {
    return {};
  }
  template <syncopate::Element T>
  syncopate::loopback::request start_all_to_all(std::span<T>) {
    return {};
  }
#endif
};

int main() {
  std::vector<float> weights(3);
  auto scheme = syncopate::sharded_sgd(weights, whole_sums{}, syncopate::sgd{});
}
