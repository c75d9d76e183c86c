/// What the engine itself costs: many small tensors, buckets of several sizes, a poll with nothing in flight, and the
/// fixed cost of a step. Memory that is allocated in `step` is counted in every row.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <syncopate/benchmark.hpp>
#include <syncopate/benchmark/taking_turns.hpp>
#include <syncopate/detail/exchange/header.hpp>
#include <syncopate/syncopate.hpp>
#include <utility>
#include <vector>

#include "support/allocation_counter.hpp"

namespace {

using model = std::vector<std::vector<float>>;

constexpr syncopate::sgd rule{.learning_rate = 1e-3, .momentum = 0.9};

/// As many tensors, of equal size.
model tensors(std::size_t number, std::size_t elements) { return model(number, std::vector<float>(elements, 1e-3F)); }

auto delayed(model& weights, std::size_t bucket_bytes = syncopate::default_bucket_bytes) {
  return syncopate::update_scheme{weights, syncopate::loopback{}, syncopate::fixed_delay{1},
                                  syncopate::gradient_averaging{syncopate::exponential_smoothing{0.5}, rule},
                                  syncopate::scheme_options{.bucket_bytes = bucket_bytes}};
}

/// Times one action, in the benchmark's own loop, and counts what it allocates.
template <class Action>
void run(benchmark::State& state, Action action) {
  action();
  const auto before = support::allocations;
  for (auto _ : state) action();
  state.counters["allocations"] = static_cast<double>(support::allocations - before);
}

/// Bytes that messages carry besides the elements.
template <class Scheme>
void count_messages(benchmark::State& state, const Scheme& scheme, std::size_t elements) {
  const auto taken = scheme.statistics();
  std::size_t bytes = 0;
  for (const auto& bucket : taken.buckets) bytes += bucket.bytes;
  state.counters["messages"] = static_cast<double>(taken.buckets.size());
  state.counters["header_bytes"] = static_cast<double>(bytes - elements * sizeof(float));
}

constexpr std::size_t million = 1'000'000;

/// A million elements in so many tensors, next to one tensor with all of them.
void step_with_tensors(benchmark::State& state) {
  const auto number = static_cast<std::size_t>(state.range(0));
  model weights = tensors(number, million / number), gradients = weights;
  model all = tensors(1, million), gradient_of_all = all;
  auto scheme = delayed(weights), scheme_of_all = delayed(all);
  syncopate::detail::taking_turns turns;
  turns.add([&] { scheme.step(weights, gradients); });
  turns.add([&] { scheme_of_all.step(all, gradient_of_all); });
  turns.round();
  turns.forget();
  for (auto _ : state) state.SetIterationTime(turns.round());
  state.counters["ratio_to_one_tensor"] = turns.ratio(1);
  count_messages(state, scheme, million);
}

/// A thousand tensors of a thousand elements, in messages of at most so many bytes.
void step_with_bucket_bytes(benchmark::State& state) {
  model weights = tensors(1000, 1000), gradients = weights;
  auto scheme = delayed(weights, static_cast<std::size_t>(state.range(0)));
  run(state, [&] { scheme.step(weights, gradients); });
  count_messages(state, scheme, million);
}

/// The fixed cost: so few elements that they do not matter.
template <class Make>
void step_of_scheme(benchmark::State& state, Make make) {
  model weights = tensors(1, 16), gradients = weights;
  auto scheme = make(weights);
  run(state, [&] { scheme.step(weights, gradients); });
  count_messages(state, scheme, 16);
}

/// Messages that have landed, and none: an averaging of weights between two averages.
void poll_with_nothing_in_flight(benchmark::State& state) {
  model weights = tensors(static_cast<std::size_t>(state.range(0)), 16), gradients = weights;
  auto scheme = syncopate::update_scheme{weights, syncopate::loopback{}, syncopate::fixed_delay{0},
                                         syncopate::gradient_averaging{syncopate::no_prediction{}, rule},
                                         syncopate::scheme_options{.bucket_bytes = 16 * sizeof(float)}};
  scheme.step(weights, gradients);
  run(state, [&] { scheme.poll(); });
}

/// What ranks tell each other with a message, written by one and read by all, as a part of a step of a million
/// parameters: the ratio is that of the times.
void agreement_between_ranks(benchmark::State& state) {
  const auto ranks = static_cast<std::size_t>(state.range(0));
  constexpr std::size_t length = syncopate::detail::header_elements;
  std::vector<float> message(ranks * length);
  const std::span<float> all(message);
  const auto write = [&](std::size_t rank) {
    syncopate::detail::coded_header<float>::write(all.subspan(rank * length, length),
                                                  {3, syncopate::detail::calls::step, true, 32});
  };
  for (std::size_t rank = 0; rank < ranks; ++rank) write(rank);
  model weights = tensors(1, million), gradients = weights;
  auto scheme = delayed(weights);
  syncopate::detail::taking_turns turns;
  turns.add([&] {
    for (int repetition = 0; repetition < 100; ++repetition) {
      std::fill(message.begin() + length, message.end(), 0.F);
      write(0);
      for (std::size_t rank = 1; rank < ranks; ++rank)  // what the sum does
        std::copy_n(all.begin(), length, all.begin() + static_cast<std::ptrdiff_t>(rank * length));
      benchmark::DoNotOptimize(syncopate::detail::read_headers(std::span<const float>(all), length, 3));
    }
  });
  turns.add([&] { scheme.step(weights, gradients); });
  turns.round();
  turns.forget();
  for (auto _ : state) state.SetIterationTime(turns.round() / 100);
  state.counters["part_of_a_step"] = turns.ratio(1) / 100;
  state.counters["bytes"] = static_cast<double>(all.size_bytes());
}

template <class Make>
void add(const std::string& name, Make make) {
  benchmark::RegisterBenchmark(("step/" + name).c_str(), [=](benchmark::State& state) { step_of_scheme(state, make); });
}

}  // namespace

int main(int argc, char** argv) {
  using syncopate::loopback;
  benchmark::RegisterBenchmark("step/tensors", step_with_tensors)
      ->Arg(1)
      ->Arg(10)
      ->Arg(1'000)
      ->Arg(10'000)
      ->UseManualTime()
      ->Unit(benchmark::kMicrosecond);
  benchmark::RegisterBenchmark("step/bucket_bytes", step_with_bucket_bytes)
      ->Arg(1 << 12)
      ->Arg(1 << 16)
      ->Arg(1 << 20)
      ->Arg(25 << 20)
      ->Unit(benchmark::kMicrosecond);
  benchmark::RegisterBenchmark("poll/messages_landed", poll_with_nothing_in_flight)->Arg(1)->Arg(100);
  benchmark::RegisterBenchmark("agreement/ranks", agreement_between_ranks)
      ->Arg(2)
      ->Arg(64)
      ->Arg(1'024)
      ->Iterations(199)  // the time that counts is next to nothing, that of a round is not
      ->UseManualTime();
  add("synchronous", [](auto& w) { return syncopate::synchronous_sgd(w, loopback{}, rule); });
  add("pseudo_synchronous", [](auto& w) { return syncopate::pseudo_synchronous_sgd(w, loopback{}, rule); });
  add("lookahead", [](auto& w) { return syncopate::lookahead_sgd(w, loopback{}, rule); });
  add("lookahead_at_delay_4",
      [](auto& w) { return syncopate::lookahead_sgd(w, loopback{}, rule, syncopate::local_gradient{}, 4); });
  add("od_sgd", [](auto& w) { return syncopate::od_sgd(w, loopback{}, rule); });
  add("od_sgd_with_local_rule",
      [](auto& w) { return syncopate::od_sgd(w, loopback{}, rule, syncopate::sgd{.momentum = 0.1}); });
  add("dasgd", [](auto& w) { return syncopate::dasgd(w, loopback{}, rule); });
  add("local_sgd", [](auto& w) { return syncopate::local_sgd(w, loopback{}, rule); });
  return syncopate::run_benchmarks(argc, argv);
}
