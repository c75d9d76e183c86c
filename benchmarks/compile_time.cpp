/// What including a header costs: the time that the compiler takes to check a file which includes it and nothing else,
/// and how many lines that file has when preprocessed; and what a program with one scheme costs, header-only and with
/// syncopate::compiled. COMPILER_COMMAND is the compiler with its flags.
#include <benchmark/benchmark.h>
#include <stdio.h>  // popen

#include <cstdlib>
#include <functional>
#include <iostream>
#include <string>
#include <syncopate/benchmark.hpp>
#include <syncopate/benchmark/taking_turns.hpp>
#include <syncopate/error.hpp>

#if __has_include(<xtensor/containers/xtensor.hpp>)
#define XTENSOR "xtensor/containers/xtensor.hpp"
#elif __has_include(<xtensor/xtensor.hpp>)
#define XTENSOR "xtensor/xtensor.hpp"
#endif

namespace {

/// A shell's command that feeds the compiler with such a file; an empty one without a header.
std::string command_for(const std::string& header, const std::string& options) {
  const std::string line = header.empty() ? "" : "#include <" + header + ">";
  return "echo '" + line + "' | " COMPILER_COMMAND " " + options + " -x c++ -";
}

std::function<void()> compilation_of(const std::string& header, const std::string& options = "") {
  return [command = command_for(header, "-fsyntax-only " + options)] {
    if (std::system(command.c_str()) != 0) throw syncopate::error("syncopate: this did not compile: " + command);
  };
}

/// Lines after preprocessing, without empty ones.
double lines_of(const std::string& header) {
  const std::string command = command_for(header, "-E -P");
  FILE* const output = popen(command.c_str(), "r");
  if (!output) throw syncopate::error("syncopate: this could not be started: " + command);
  double lines = 0;
  for (int previous = '\n', character = 0; (character = std::fgetc(output)) != EOF; previous = character)
    if (character == '\n' && previous != '\n') ++lines;
  if (pclose(output) != 0) throw syncopate::error("syncopate: this failed: " + command);
  return lines;
}

/// With `other`, that is compiled in turns with it, for the column `ratio_to_xtensor`.
void add(const std::string& name, const std::string& header, const std::string& other = "",
         const std::string& options = "") {
  benchmark::RegisterBenchmark(("include/" + name).c_str(),
                               [=](benchmark::State& state) {
                                 syncopate::detail::taking_turns turns;
                                 turns.add(compilation_of(header, options));
                                 if (!other.empty()) turns.add(compilation_of(other));
                                 for (auto _ : state) state.SetIterationTime(turns.round());
                                 state.counters["lines"] = lines_of(header);
                                 if (!other.empty()) state.counters["ratio_to_xtensor"] = turns.ratio(1);
                               })
      ->UseManualTime()
      ->Unit(benchmark::kMillisecond);
}

void add(const std::string& header) { add(header, header); }

/// A program that trains with one scheme, compiled by `options`, in turns with xtensor's header, checked.
void add_program(const std::string& name, const std::string& options) {
  const std::string program =
      "#include <syncopate/syncopate.hpp>\\n#include <vector>\\n"
      "int main() {\\n"
      "  std::vector<std::vector<float>> weights{{1, 2, 3}}, gradients{{1, 1, 1}};\\n"
      "  auto scheme = syncopate::pseudo_synchronous_sgd(weights, syncopate::loopback{}, syncopate::sgd{});\\n"
      "  scheme.step(weights, gradients);\\n"
      "  scheme.finish(weights);\\n"
      "}\\n";
  const std::string command =
      "printf '" + program + "' | " COMPILER_COMMAND " " + options + " -c -o /dev/null -x c++ -";
  benchmark::RegisterBenchmark(("program/" + name).c_str(),
                               [=](benchmark::State& state) {
                                 syncopate::detail::taking_turns turns;
                                 turns.add([&] {
                                   if (std::system(command.c_str()) != 0)
                                     throw syncopate::error("syncopate: this did not compile: " + command);
                                 });
#ifdef XTENSOR
                                 turns.add(compilation_of(XTENSOR));
#endif
                                 for (auto _ : state) state.SetIterationTime(turns.round());
#ifdef XTENSOR
                                 state.counters["ratio_to_xtensor"] = turns.ratio(1);
#endif
                               })
      ->UseManualTime()
      ->Unit(benchmark::kMillisecond);
}

}  // namespace

int main(int argc, char** argv) {
  add("nothing", "");
  add("vector");
#ifdef XTENSOR
  add(XTENSOR);
  add("syncopate/syncopate.hpp", "syncopate/syncopate.hpp", XTENSOR);
  add("compiled/syncopate/syncopate.hpp", "syncopate/syncopate.hpp", XTENSOR, "-DSYNCOPATE_COMPILED");
  add("syncopate/adaptors/xtensor.hpp");
#else
  add("syncopate/syncopate.hpp");
#endif
#if __has_include(<Eigen/Core>)
  add("Eigen/Core");
  add("syncopate/adaptors/eigen.hpp");
#endif
#if __has_include(<boost/mpi.hpp>)
  add("boost/mpi.hpp");
  add("syncopate/communicators/boost_mpi.hpp");
#endif
  add("syncopate/benchmark.hpp");
  for (const std::string level : {"O0", "O2"}) {
    add_program("header_only_" + level, "-" + level);
    add_program("compiled_" + level, "-" + level + " -DSYNCOPATE_COMPILED");
  }
  try {
    return syncopate::run_benchmarks(argc, argv);
  } catch (const syncopate::error& error) {
    std::cerr << error.what() << "\n";
    return 1;
  }
}
