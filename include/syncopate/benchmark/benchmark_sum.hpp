#pragma once

#include <benchmark/benchmark.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "ranks.hpp"
#include "taking_turns.hpp"

namespace syncopate {

/// A sum over ranks by other means, whose name becomes the column `ratio_to_<name>`.
struct named_sum {
  std::string name;
  std::function<void(std::span<float>)> sum;
};

/// How `benchmark_sum` measures.
struct sum_benchmark_options {
  /// What the communicator is compared with.
  std::vector<named_sum> against{};
  /// Sizes of the message, in bytes.
  std::vector<std::int64_t> bytes{4, 64, 1 << 10, 1 << 14, 1 << 18, 1 << 20, 1 << 22, 1 << 24, 1 << 26};
};

namespace detail {

template <class C>
void measure_sum(benchmark::State& state, C& communicator, const sum_benchmark_options& options) {
  std::vector<float> numbers(static_cast<std::size_t>(state.range(0)) / sizeof(float));
  const std::span<float> all(numbers);
  taking_turns turns([&](double seconds) { return slowest_rank(communicator, seconds); });
  turns.add([&] { communicator.start_sum(all).wait(); });
  for (const named_sum& other : options.against) turns.add([&] { other.sum(all); });
  constexpr bool sums_at_once = requires { communicator.sum(all); };
  if constexpr (sums_at_once) turns.add([&] { communicator.sum(all); });

  turns.round();  // connections are made at the first message
  turns.forget();
  for (auto _ : state) state.SetIterationTime(turns.round());
  state.SetBytesProcessed(state.iterations() * state.range(0));
  for (std::size_t n = 0; n < options.against.size(); ++n)
    state.counters["ratio_to_" + options.against[n].name] = turns.ratio(n + 1);
  if constexpr (sums_at_once) state.counters["ratio_to_sum"] = turns.ratio(options.against.size() + 1);
}

}  // namespace detail

/// Registers a benchmark of a communicator's sum. Collective, and so is the run. The argument in the benchmark's name
/// is the size of the message in bytes. Columns:
///
/// - time: from the start until the sum is complete, by `start_sum` and `wait`; the slowest rank's.
/// - `bytes_per_second`: of the message.
/// - `ratio_to_<name>`: time, ours ÷ that of a sum in `options.against`.
/// - `ratio_to_sum`: ours ÷ that of the communicator's blocking `sum`, where it has one.
template <class C>
benchmark::internal::Benchmark* benchmark_sum(const std::string& name, C communicator,
                                              sum_benchmark_options options = {}) {
  benchmark::internal::Benchmark* registered = nullptr;
  for (const std::int64_t bytes : options.bytes) {
    registered = benchmark::RegisterBenchmark(
        name.c_str(), [=](benchmark::State& state) mutable { detail::measure_sum(state, communicator, options); });
    registered->Arg(bytes)
        ->Iterations(detail::iterations((std::int64_t{1} << 28) / bytes))
        ->UseManualTime()
        ->Unit(benchmark::kMicrosecond);
  }
  return registered;
}

}  // namespace syncopate
