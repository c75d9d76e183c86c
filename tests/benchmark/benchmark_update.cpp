#include <algorithm>
#include <catch2/catch.hpp>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <syncopate/benchmark.hpp>
#include <syncopate/detail/exchange/header.hpp>
#include <syncopate/syncopate.hpp>
#include <vector>

namespace {

using namespace syncopate;

/// What one run of a benchmark reported.
struct result {
  std::map<std::string, double> counters;
  std::int64_t iterations = 0;
};

/// Keeps what is reported, by name.
class recorder : public benchmark::BenchmarkReporter {
 public:
  std::map<std::string, result> results;

  bool ReportContext(const Context&) override { return true; }
  void ReportRuns(const std::vector<Run>& runs) override {
    for (const Run& run : runs) {
      result& r = results[run.run_name.function_name];
      for (const auto& [name, counter] : run.counters) r.counters[name] = counter.value;
      r.iterations = run.iterations;
    }
  }
};

std::map<std::string, result> run_all() {
  recorder taken;
  benchmark::RunSpecifiedBenchmarks(&taken);
  benchmark::ClearRegisteredBenchmarks();
  return taken.results;
}

/// Two ranks in one: everything that one does the other has done as well.
struct two_of_the_same : loopback {
  static constexpr int size() { return 2; }
  static constexpr two_of_the_same duplicate() { return {}; }
  static void all_gather(std::span<const std::byte> own, std::span<std::byte> all) {
    std::ranges::copy(own, all.begin());
    std::ranges::copy(own, all.begin() + std::ssize(own));
  }
  template <Element T>
  static request start_sum(std::span<T> elements) {
    const auto headers = elements.last(2 * detail::header_elements);
    std::ranges::copy(headers.first(detail::header_elements), headers.last(detail::header_elements).begin());
    for (T& element : elements.first(elements.size() - headers.size())) element *= 2;
    return {};
  }
};

constexpr sgd rule{.learning_rate = 0.01, .momentum = 0.5};

/// Pseudo-synchronous SGD without prediction, at a delay of one step.
template <int Rate = 100>
void delayed_momentum(auto& x) {
  for (std::size_t i = 0; i < x.size; ++i) {
    x.message[i] = x.gradient[i];
    x.state[0][i] = x.landed[i] + 0.5F * x.state[0][i];
    x.weights[i] -= (1.0F / Rate) * x.state[0][i];
  }
}

template <class MakeScheme>
double bytes_of(MakeScheme make, std::int64_t period = 1) {
  benchmark_update("it", make, {.sizes = {512}, .period = period, .iterations = 2});
  return run_all().at("it").counters.at("bytes_per_parameter");
}

}  // namespace

TEST_CASE("an update is compared with the loop that does the same, and one that does not is found out") {
  const auto make = [](auto& w) { return pseudo_synchronous_sgd(w, loopback{}, rule, no_prediction{}); };
  benchmark_update(
      "same", make,
      {.against = {{"hand_fused", [](auto& x) { delayed_momentum(x); }}}, .sizes = {1000}, .iterations = 3});
  benchmark_update("other", make,
                   {.against = {{"other", [](auto& x) { delayed_momentum<50>(x); }}, {"empty", [](auto&) {}}},
                    .sizes = {1000},
                    .iterations = 3});
  const auto results = run_all();
  const auto& same = results.at("same").counters;
  CHECK(same.at("difference") < 1e-6);
  CHECK(same.at("ratio_to_hand_fused") > 0);
  CHECK(same.at("ratio_to_memcpy") > 0);
  CHECK(same.at("state_vectors") == 1);
  const auto& other = results.at("other").counters;
  CHECK(other.at("difference") == Approx(1).margin(0.1));  // it goes twice as far
  CHECK(other.at("ratio_to_empty") > other.at("ratio_to_other"));
}

TEST_CASE("bytes per parameter are those of one pass over memory") {
  constexpr double vector = sizeof(float);
  // Gradient, message; sum, weights read and written, velocity read and written.
  CHECK(bytes_of([](auto& w) { return synchronous_sgd(w, loopback{}, rule); }) == 7 * vector);
  CHECK(bytes_of([](auto& w) { return pseudo_synchronous_sgd(w, loopback{}, rule, no_prediction{}); }) == 7 * vector);
  // The history is read and written; with a gain per tensor the sum, the history and the signal are read once more.
  CHECK(bytes_of([](auto& w) { return pseudo_synchronous_sgd(w, loopback{}, rule, exponential_smoothing{}); }) ==
        9 * vector);
  CHECK(bytes_of([](auto& w) {
          return pseudo_synchronous_sgd(w, loopback{}, rule,
                                        adaptive_exponential_smoothing{tracking_signal{}, granularity::chunk});
        }) == 11 * vector);
  CHECK(bytes_of([](auto& w) { return pseudo_synchronous_sgd(w, loopback{}, rule); }) == 14 * vector);
  // The rank's own gradient is kept and read; the user's weights are written.
  CHECK(bytes_of([](auto& w) { return lookahead_sgd(w, loopback{}, rule); }) == 10 * vector);
  CHECK(bytes_of([](auto& w) { return lookahead_sgd(w, loopback{}, adamw{}); }) == 12 * vector);
  // Four local steps of five vectors; one message and, one step later, a merge: sum, weights read and written.
  CHECK(bytes_of([](auto& w) { return dasgd(w, loopback{}, rule); }, 4) == 6 * vector);
}

TEST_CASE("a tensor type of one's own is measured, in doubles") {
  benchmark_update<std::vector<double>>("doubles", [](auto& w) { return lookahead_sgd(w, loopback{}, rule); },
                                        {.sizes = {1000}, .iterations = 2});
  const auto result = run_all().at("doubles").counters;
  CHECK(result.at("bytes_per_parameter") == 80);
  CHECK(result.at("state_vectors") == 2);  // the true weights, the velocity
}

TEST_CASE("several ranks measure equally often: as the size says, or the caller") {
  const auto make = [](auto& w) { return synchronous_sgd(w, two_of_the_same{}, rule); };
  benchmark_update("as the size says", make, {.sizes = {std::int64_t{1} << 21}});
  benchmark_update("three times", make, {.sizes = {100}, .iterations = 3});
  const auto results = run_all();
  CHECK(results.at("as the size says").iterations == 64);
  CHECK(results.at("three times").iterations == 3);
  CHECK(results.at("three times").counters.at("ratio_to_memcpy") > 0);
}
