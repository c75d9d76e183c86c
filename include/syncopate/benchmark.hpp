#pragma once

/// Measures what an update costs, and what a sum over ranks costs, with Google Benchmark, which this header needs; it
/// is not part of syncopate.hpp.
///
///     int main(int argc, char** argv) {
///       syncopate::benchmark_update(
///           "mine", [](auto& weights) { return syncopate::lookahead_sgd(weights, syncopate::loopback{}, my_rule{}); },
///           [](auto& x) {  // the loop to compare with; may be left out
///             for (std::size_t i = 0; i < x.size; ++i) x.message[i] = x.gradient[i];
///             for (std::size_t i = 0; i < x.size; ++i) x.weights[i] -= 0.1F * x.landed[i];
///           });
///       return syncopate::run_benchmarks(argc, argv);
///     }
///
/// Everything that is compared is timed in turns, in one run, and a ratio is the median of the ratios of such pairs:
/// that holds on a machine whose speed changes from second to second, where two times do not compare.

#include <benchmark/benchmark.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "benchmark/taking_turns.hpp"
#include "benchmark/traffic.hpp"
#include "detail/buffer.hpp"
#include "tensor.hpp"

namespace syncopate {

/// What an update that is written by hand works on: vectors of `size` elements, which lie in memory as the engine's do.
/// Those besides weights and gradient are zero at the start. An update that hides communication writes `message` and
/// reads `landed`, the message of the call before; one that does not hide it reads the message it has just written.
template <Element T>
struct update_by_hand {
  std::size_t size = 0;
  std::int64_t step = 0;  ///< earlier calls
  T* weights = nullptr;
  const T* gradient = nullptr;
  T* message = nullptr;
  const T* landed = nullptr;
  T* kept = nullptr;  ///< a second vector that goes with each message
  const T* kept_with_landed = nullptr;
  std::array<T*, 7> state{};
};

/// An update by hand, whose name becomes the column `ratio_to_<name>`.
template <Element T>
struct named_update {
  std::string name;
  std::function<void(update_by_hand<T>&)> update;
};

/// How `benchmark_update` measures.
template <Tensor X>
struct update_benchmark_options {
  using element = typename decltype(elements(std::declval<X&>()))::value_type;

  /// What the scheme is compared with, besides `memcpy`.
  std::vector<named_update<element>> against{};
  /// Numbers of parameters.
  std::vector<std::int64_t> sizes{1 << 10, 1 << 14, 1 << 20, 1 << 24};
  /// Makes a tensor of so many elements.
  std::function<X(std::size_t)> make_tensor = [](std::size_t size) { return X(size); };
  /// Steps after which a scheme does the same again, such as `periodic_delay::period`: they are timed together.
  std::int64_t period = 1;
  /// How often to measure; 0: 9 to 999 times, by the size alone, since ranks must measure equally often.
  std::int64_t iterations = 0;
};

/// Registers a benchmark of `update_scheme::step`; `make_scheme(weights)` makes the scheme for a tensor, and its
/// communicator. The argument in the benchmark's name is the number of parameters. Columns:
///
/// - time: of one step, the slowest rank's.
/// - `bytes_per_parameter`: what one pass over memory has to read and write, by what the policies declare;
///   `bytes_per_second` counts these bytes.
/// - `state_vectors`: vectors as large as the weights that the engine keeps, besides messages.
/// - `ratio_to_<name>`: time, ours ÷ that of an update in `options.against`; `ratio_to_memcpy`: ours ÷ that of copying,
///   so that as many bytes are read and written.
/// - `difference`: how far our weights are from those of the first of `options.against` after eight steps, as a part of
///   the way that weights have gone (largest of each): whether the two do the same.
template <class X = std::vector<float>, class MakeScheme>
benchmark::internal::Benchmark* benchmark_update(const std::string& name, MakeScheme make_scheme,
                                                 update_benchmark_options<X> options = {});

/// The same, with one loop to compare with, as `ratio_to_hand_fused`.
template <class X = std::vector<float>, class MakeScheme,
          std::invocable<update_by_hand<typename update_benchmark_options<X>::element>&> Update>
benchmark::internal::Benchmark* benchmark_update(const std::string& name, MakeScheme make_scheme, Update by_hand) {
  return benchmark_update<X>(name, std::move(make_scheme),
                             update_benchmark_options<X>{.against = {{"hand_fused", std::move(by_hand)}}});
}

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

/// Registers a benchmark of a communicator's sum. Collective, and so is the run. The argument in the benchmark's name
/// is the size of the message in bytes. Columns:
///
/// - time: from the start until the sum is complete, by `start_sum` and `wait`; the slowest rank's.
/// - `bytes_per_second`: of the message.
/// - `ratio_to_<name>`: time, ours ÷ that of a sum in `options.against`.
/// - `ratio_to_sum`: ours ÷ that of the communicator's blocking `sum`, where it has one.
template <class C>
benchmark::internal::Benchmark* benchmark_sum(const std::string& name, C communicator,
                                              sum_benchmark_options options = {});

namespace detail {

/// A number of measurements that all ranks know: neither too few to judge by nor too many to wait for.
inline std::int64_t iterations(std::int64_t wanted) { return std::clamp<std::int64_t>(wanted, 9, 999); }

/// The slowest rank's time. Collective: ranks leave it together.
template <class C>
double slowest_rank(C& communicator, double seconds) {
  std::vector<double> all(static_cast<std::size_t>(communicator.size()));
  communicator.all_gather(std::as_bytes(std::span(&seconds, 1)), std::as_writable_bytes(std::span(all)));
  return std::ranges::max(all);
}

/// The vectors of an update by hand.
template <class T>
class vectors_by_hand {
 public:
  /// Gradients take turns.
  vectors_by_hand(std::span<const T> weights, std::array<std::span<const T>, 2> gradients)
      : weights_(weights.begin(), weights.end()) {
    for (std::size_t g = 0; g < 2; ++g) gradients_[g].assign(gradients[g].begin(), gradients[g].end());
    for (buffer<T>& vector : own_) vector = buffer<T>(weights.size());
    update_.size = weights.size();
    update_.weights = weights_.data();
    for (std::size_t v = 0; v < update_.state.size(); ++v) update_.state[v] = own_[v + 4].data();
  }

  void run(const std::function<void(update_by_hand<T>&)>& update) {
    const std::size_t now = update_.step % 2 == 0 ? 0 : 1;
    update_.gradient = gradients_[now].data();
    update_.message = own_[now].data();
    update_.landed = own_[1 - now].data();
    update_.kept = own_[2 + now].data();
    update_.kept_with_landed = own_[3 - now].data();
    update(update_);
    benchmark::ClobberMemory();
    ++update_.step;
  }

  std::span<const T> weights() const { return weights_; }

 private:
  std::vector<T> weights_;
  std::array<std::vector<T>, 2> gradients_;
  std::array<buffer<T>, 11> own_;
  update_by_hand<T> update_;
};

/// Largest absolute difference of two vectors.
template <class T>
double distance(std::span<const T> a, std::span<const T> b) {
  double largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    largest = std::max(largest, std::abs(static_cast<double>(a[i]) - static_cast<double>(b[i])));
  return largest;
}

/// Reports nothing.
class silent_reporter : public benchmark::BenchmarkReporter {
 public:
  bool ReportContext(const Context&) override { return true; }
  void ReportRuns(const std::vector<Run>&) override {}
};

template <class X, class MakeScheme>
void measure_update(benchmark::State& state, const MakeScheme& make_scheme,
                    const update_benchmark_options<X>& options) {
  using T = typename update_benchmark_options<X>::element;
  const auto size = static_cast<std::size_t>(state.range(0));
  // Two gradients take turns: with a constant one what policies smooth would decay into denormal numbers, which are
  // slow.
  X weights = options.make_tensor(size);
  std::array<X, 2> gradients{options.make_tensor(size), options.make_tensor(size)};
  for (std::size_t i = 0; i < size; ++i) {
    elements(weights)[i] = T(1);
    elements(gradients[0])[i] = T(1e-3) * T(i % 17) - T(8e-3);
    elements(gradients[1])[i] = T(6e-3) - T(1e-3) * T(i % 13);
  }
  const std::vector<T> start(elements(weights).begin(), elements(weights).end());
  const auto weights_now = [&] { return std::span<const T>(elements(weights)); };
  vectors_by_hand<T> by_hand(weights_now(), {elements(gradients[0]), elements(gradients[1])});
  auto scheme = make_scheme(weights);
  std::size_t taken = 0;
  const auto step_once = [&] { scheme.step(weights, gradients[taken++ % 2]); };

  // Steps that are timed together: whole periods, and so many that the clock does not matter.
  constexpr std::int64_t enough = 1 << 17;
  const auto periods = std::max<std::int64_t>(1, enough / (std::max<std::int64_t>(1, state.range(0)) * options.period));
  const std::int64_t steps = periods * options.period;
  statistics settled;  // messages are in flight by then
  for (std::int64_t step = 0; step < 8 * options.period; ++step) {
    if (step == 4 * options.period) settled = scheme.statistics();
    step_once();
    if (!options.against.empty()) by_hand.run(options.against.front().update);
  }
  if (!options.against.empty()) {
    const double way = distance(weights_now(), std::span<const T>(start));
    const double difference = distance(weights_now(), by_hand.weights());
    state.counters["difference"] = way > 0 ? difference / way : difference;
  }

  auto ranks = scheme.communicator().duplicate();
  taking_turns turns([&](double seconds) { return slowest_rank(ranks, seconds); });
  turns.add([&] {
    for (std::int64_t step = 0; step < steps; ++step) step_once();
  });
  for (const named_update<T>& other : options.against)
    turns.add([&] {
      for (std::int64_t step = 0; step < steps; ++step) by_hand.run(other.update);
    });
  const double bytes = sizeof(T) * vectors_moved<T>(scheme.averaging(), settled, scheme.statistics());
  const buffer<T> source(static_cast<std::size_t>(std::ceil(bytes / sizeof(T) / 2 * static_cast<double>(size))));
  const buffer<T> target(source.size());
  turns.add([&] {
    for (std::int64_t step = 0; step < steps; ++step) {
      std::memcpy(target.data(), source.data(), source.elements().size_bytes());
      benchmark::ClobberMemory();
    }
  });

  for (auto _ : state) state.SetIterationTime(turns.round() / static_cast<double>(steps));
  state.SetBytesProcessed(std::llround(static_cast<double>(state.iterations()) * bytes * static_cast<double>(size)));
  state.counters["bytes_per_parameter"] = bytes;
  state.counters["state_vectors"] =
      static_cast<double>(scheme.memory().state()) / static_cast<double>(sizeof(T) * std::max<std::size_t>(1, size));
  for (std::size_t n = 0; n < options.against.size(); ++n)
    state.counters["ratio_to_" + options.against[n].name] = turns.ratio(n + 1);
  state.counters["ratio_to_memcpy"] = turns.ratio(options.against.size() + 1);
}

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

template <class X, class MakeScheme>
benchmark::internal::Benchmark* benchmark_update(const std::string& name, MakeScheme make_scheme,
                                                 update_benchmark_options<X> options) {
  benchmark::internal::Benchmark* registered = nullptr;
  for (const std::int64_t size : options.sizes) {
    const std::int64_t by_size = detail::iterations((std::int64_t{1} << 27) / std::max<std::int64_t>(1, size));
    registered = benchmark::RegisterBenchmark(
        name.c_str(), [=](benchmark::State& state) { detail::measure_update<X>(state, make_scheme, options); });
    registered->Arg(size)->Iterations(options.iterations > 0 ? options.iterations : by_size);
    registered->UseManualTime()->Unit(benchmark::kMicrosecond);
  }
  return registered;
}

template <class C>
benchmark::internal::Benchmark* benchmark_sum(const std::string& name, C communicator, sum_benchmark_options options) {
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

/// Runs all registered benchmarks, with Google Benchmark's command line; returns what `main` should. Of several ranks
/// all run them, and rank 0 reports.
inline int run_benchmarks(int argc, char** argv, int rank = 0) {
  std::vector<char*> arguments(argv, argv + argc);
  if (rank != 0)
    std::erase_if(arguments,
                  [](const char* argument) { return std::string_view(argument).starts_with("--benchmark_out"); });
  auto count = static_cast<int>(arguments.size());
  benchmark::Initialize(&count, arguments.data());
  if (benchmark::ReportUnrecognizedArguments(count, arguments.data())) return 1;
  if (rank == 0) {
    benchmark::RunSpecifiedBenchmarks();
  } else {
    detail::silent_reporter silent;
    benchmark::RunSpecifiedBenchmarks(&silent);
  }
  return 0;
}

}  // namespace syncopate
