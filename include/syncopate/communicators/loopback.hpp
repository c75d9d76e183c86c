#pragma once

#include <cstddef>
#include <span>

#include "../concepts.hpp"

namespace syncopate {

/// One rank that is alone: every sum is what it put in. For tests, for benchmarks of an update's cost, and for running
/// a distributed program on one process without MPI.
class loopback {
 public:
  /// A sum of one summand: complete at once.
  struct request {
    static constexpr bool test() { return true; }
    static constexpr void wait() {}
  };

  static constexpr int rank() { return 0; }
  static constexpr int size() { return 1; }
  static constexpr loopback duplicate() { return {}; }

  template <Element T>
  static constexpr request start_sum(std::span<T>) {
    return {};
  }
  template <Element T>
  static constexpr request start_reduce_scatter(std::span<T>) {
    return {};
  }
  template <Element T>
  static constexpr request start_all_gather(std::span<T>) {
    return {};
  }
  template <Element T>
  static constexpr request start_all_to_all(std::span<T>) {
    return {};
  }
  static constexpr void broadcast(std::span<std::byte>, int) {}
  static void all_gather(std::span<const std::byte> own, std::span<std::byte> all) {
    for (std::size_t i = 0; i < own.size(); ++i) all[i] = own[i];
  }
};

}  // namespace syncopate
