// What does a policy of one's own cost, in a tensor of one's own? Needs Google Benchmark, and takes its options:
//   benchmark_policy --benchmark_filter=16777216 --benchmark_counters_tabular=true
#include <cmath>
#include <cstddef>
#include <memory>
#include <span>
#include <syncopate/benchmark.hpp>
#include <syncopate/syncopate.hpp>

/// A rule: steps of constant length, whose direction has momentum.
struct signed_momentum {
  double learning_rate = 1e-3, momentum = 0.9;
  static constexpr std::size_t state_vectors = 1;

  template <class T>
  constexpr void apply(T& weight, T gradient, T& velocity) const {
    velocity = gradient + T(momentum) * velocity;
    weight -= std::copysign(T(learning_rate), velocity);
  }
};

/// A tensor class as it might exist in a program already.
struct block {
  std::size_t size;
  std::unique_ptr<double[]> elements;
};
template <>
struct syncopate::tensor_traits<block> {
  static std::span<double> elements(block& b) { return {b.elements.get(), b.size}; }
  static std::span<const double> elements(const block& b) { return {b.elements.get(), b.size}; }
};

int main(int argc, char** argv) {
  const auto make_scheme = [](auto& weights) {
    return syncopate::lookahead_sgd(weights, syncopate::loopback{}, signed_momentum{}, syncopate::no_prediction{});
  };

  // Next to the loop that one would write instead: the message of this step, then the mean of the one before.
  syncopate::benchmark_update("signed_momentum", make_scheme, [](auto& x) {
    float *w = x.weights, *message = x.message, *true_w = x.state[0], *velocity = x.state[1];
    if (x.step == 0) std::copy_n(w, x.size, true_w);
    for (std::size_t i = 0; i < x.size; ++i) message[i] = x.gradient[i];
    for (std::size_t i = 0; i < x.size; ++i) {
      if (x.step > 0) {
        velocity[i] = x.landed[i] + 0.9F * velocity[i];
        true_w[i] -= std::copysign(1e-3F, velocity[i]);
      }
      w[i] = true_w[i] - std::copysign(1e-3F, x.landed[i] + 0.9F * velocity[i]);
    }
  });

  // In a tensor type of one's own.
  syncopate::benchmark_update<block>("signed_momentum/block", make_scheme, {.make_tensor = [](std::size_t size) {
                                       return block{size, std::make_unique<double[]>(size)};
                                     }});
  return syncopate::run_benchmarks(argc, argv);
}
