/// Instructions per parameter of an update, next to those of the loop by hand: counted by valgrind, so they are the
/// same on a busy machine. Each count is the difference of two runs of this program that differ in their number of
/// steps.
#include <benchmark/benchmark.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <map>
#include <regex>
#include <span>
#include <string>
#include <syncopate/benchmark.hpp>
#include <syncopate/syncopate.hpp>
#include <vector>

#include "update_overhead/parts.hpp"
#include "update_overhead/registration.hpp"

namespace {

constexpr std::size_t size = 1 << 14;

/// Takes so many steps.
using run = std::function<void(int)>;
struct composition {
  run ours, by_hand;
};

template <class ByHand, class MakeScheme>
composition compare(MakeScheme make) {
  return {[=](int steps) {
            std::vector<float> weights(size, 1), gradient(size, 1e-3F);
            auto scheme = make(weights);
            for (int step = 0; step < steps; ++step) scheme.step(weights, gradient);
          },
          [](int steps) {
            const std::vector<float> weights(size, 1), gradient(size, 1e-3F);
            syncopate::detail::vectors_by_hand<float> vectors(weights, {gradient, gradient});
            const std::function<void(syncopate::update_by_hand<float>&)> update = ByHand{};
            for (int step = 0; step < steps; ++step) vectors.run(update);
          }};
}

template <class Predictor, class Rule>
composition committed() {
  return compare<registration::committed_by_hand<float, Predictor, Rule>>([](auto& w) {
    return syncopate::pseudo_synchronous_sgd(w, syncopate::loopback{}, Rule::policy, Predictor::policy);
  });
}

template <class Predictor, class Rule>
composition looking_ahead() {
  return compare<registration::looking_ahead_by_hand<float, Predictor, Rule, false>>(
      [](auto& w) { return syncopate::lookahead_sgd(w, syncopate::loopback{}, Rule::policy, Predictor::policy); });
}

template <class Merge, class Rule>
composition averaging_weights() {
  return compare<registration::averaging_weights_by_hand<float, Merge, Rule>>([](auto& w) {
    return syncopate::update_scheme{w, syncopate::loopback{},
                                    syncopate::periodic_delay{.period = registration::period, .delay = 1},
                                    syncopate::weight_averaging{Merge::policy, Rule::policy}};
  });
}

const std::map<std::string, composition>& compositions() {
  using namespace parts;
  static const std::map<std::string, composition> all{
      {"gradient_averaging/no_prediction/sgd", committed<no_prediction, sgd>()},
      {"gradient_averaging/smoothing/sgd", committed<smoothing, sgd>()},
      {"gradient_averaging/smoothing/adamw", committed<smoothing, adamw>()},
      {"gradient_averaging/adaptive_smoothing/sgd", committed<adaptive_smoothing<everything>, sgd>()},
      {"lookahead_averaging/local/sgd", looking_ahead<local, sgd>()},
      {"lookahead_averaging/local/adamw", looking_ahead<local, adamw>()},
      {"weight_averaging/blend/sgd", averaging_weights<blend, sgd>()}};
  return all;
}

/// What valgrind counts for a run of this program, or −1.
double instructions(const std::string& program, const std::string& name, const char* whose, int steps) {
  const std::string command = "valgrind --tool=callgrind --callgrind-out-file=/dev/null '" + program + "' " + whose +
                              " '" + name + "' " + std::to_string(steps) + " 2>&1";
  std::string text;
  if (std::FILE* output = popen(command.c_str(), "r")) {
    std::array<char, 256> line{};
    while (std::fgets(line.data(), static_cast<int>(line.size()), output)) text += line.data();
    pclose(output);
  }
  std::smatch found;
  return std::regex_search(text, found, std::regex("Collected : ([0-9]+)")) ? std::stod(found[1]) : -1;
}

void measure(benchmark::State& state, const std::string& program, const std::string& name) {
  constexpr int few = 8, many = 24;  // whole periods
  const auto per_parameter = [&](const char* whose) {
    const double before = instructions(program, name, whose, few), after = instructions(program, name, whose, many);
    return before < 0 || after < 0 ? -1 : (after - before) / (many - few) / static_cast<double>(size);
  };
  double ours = 0, by_hand = 0;
  for (auto _ : state) {
    ours = per_parameter("ours");
    by_hand = per_parameter("by_hand");
  }
  if (ours < 0 || by_hand < 0) {
    state.SkipWithError("valgrind counts nothing: is it installed?");
    return;
  }
  state.counters["instructions_per_parameter"] = ours;
  state.counters["instruction_ratio_to_hand_fused"] = ours / by_hand;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 4 && (std::string(argv[1]) == "ours" || std::string(argv[1]) == "by_hand")) {
    const composition& chosen = compositions().at(argv[2]);
    (std::string(argv[1]) == "ours" ? chosen.ours : chosen.by_hand)(std::stoi(argv[3]));
    return 0;
  }
  for (const auto& [name, both] : compositions())
    benchmark::RegisterBenchmark(("instructions/" + name).c_str(),
                                 [=, name = name](benchmark::State& state) { measure(state, argv[0], name); })
        ->Iterations(1)
        ->Unit(benchmark::kMillisecond);
  return syncopate::run_benchmarks(argc, argv);
}
