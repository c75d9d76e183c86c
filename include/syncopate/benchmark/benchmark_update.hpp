#pragma once

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
#include <utility>
#include <vector>

#include "../detail/elements/buffer.hpp"
#include "../statistics.hpp"
#include "../tensor.hpp"
#include "ranks.hpp"
#include "taking_turns.hpp"
#include "traffic.hpp"
#include "update_by_hand.hpp"

namespace syncopate {

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

namespace detail {

/// Largest absolute difference of two vectors.
template <class T>
double distance(std::span<const T> a, std::span<const T> b) {
  double largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    largest = std::max(largest, std::abs(static_cast<double>(a[i]) - static_cast<double>(b[i])));
  return largest;
}

/// What schemes and loops start from. Two gradients take turns: with a constant one what policies smooth would decay
/// into denormal numbers, which are slow.
template <class X>
struct update_inputs {
  update_inputs(const update_benchmark_options<X>& options, std::size_t size)
      : weights(options.make_tensor(size)), gradients{options.make_tensor(size), options.make_tensor(size)} {
    using T = typename update_benchmark_options<X>::element;
    for (std::size_t i = 0; i < size; ++i) {
      elements(weights)[i] = T(1);
      elements(gradients[0])[i] = T(1e-3) * T(i % 17) - T(8e-3);
      elements(gradients[1])[i] = T(6e-3) - T(1e-3) * T(i % 13);
    }
  }

  X weights;
  std::array<X, 2> gradients;
};

/// Steps that are timed together: whole periods, and so many that the clock does not matter.
inline std::int64_t steps_at_once(std::int64_t size, std::int64_t period) {
  constexpr std::int64_t enough = 1 << 17;
  return period * std::max<std::int64_t>(1, enough / (std::max<std::int64_t>(1, size) * period));
}

template <class X, class MakeScheme>
void measure_update(benchmark::State& state, const MakeScheme& make_scheme,
                    const update_benchmark_options<X>& options) {
  using T = typename update_benchmark_options<X>::element;
  const auto size = static_cast<std::size_t>(state.range(0));
  const std::int64_t steps = steps_at_once(state.range(0), options.period);
  update_inputs<X> inputs(options, size);
  X& weights = inputs.weights;
  const std::vector<T> start(elements(weights).begin(), elements(weights).end());
  const auto weights_now = [&] { return std::span<const T>(elements(weights)); };
  vectors_by_hand<T> by_hand(weights_now(), {elements(inputs.gradients[0]), elements(inputs.gradients[1])});
  auto scheme = make_scheme(weights);
  std::size_t taken = 0;
  const auto step_once = [&] { scheme.step(weights, inputs.gradients[taken++ % 2]); };

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

}  // namespace detail

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
                                                 update_benchmark_options<X> options = {}) {
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

/// The same, with one loop to compare with, as `ratio_to_hand_fused`.
template <class X = std::vector<float>, class MakeScheme,
          std::invocable<update_by_hand<typename update_benchmark_options<X>::element>&> Update>
benchmark::internal::Benchmark* benchmark_update(const std::string& name, MakeScheme make_scheme, Update by_hand) {
  return benchmark_update<X>(name, std::move(make_scheme),
                             update_benchmark_options<X>{.against = {{"hand_fused", std::move(by_hand)}}});
}

}  // namespace syncopate
