/// What including a header costs: the time that the compiler takes to check a file which includes it and nothing else,
/// and how many lines that file has when preprocessed. COMPILER_COMMAND is the compiler with its flags.
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

std::function<void()> compilation_of(const std::string& header) {
  return [command = command_for(header, "-fsyntax-only")] {
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
void add(const std::string& name, const std::string& header, const std::string& other = "") {
  benchmark::RegisterBenchmark(("include/" + name).c_str(),
                               [=](benchmark::State& state) {
                                 syncopate::detail::taking_turns turns;
                                 turns.add(compilation_of(header));
                                 if (!other.empty()) turns.add(compilation_of(other));
                                 for (auto _ : state) state.SetIterationTime(turns.round());
                                 state.counters["lines"] = lines_of(header);
                                 if (!other.empty()) state.counters["ratio_to_xtensor"] = turns.ratio(1);
                               })
      ->UseManualTime()
      ->Unit(benchmark::kMillisecond);
}

void add(const std::string& header) { add(header, header); }

}  // namespace

int main(int argc, char** argv) {
  add("nothing", "");
  add("vector");
#ifdef XTENSOR
  add(XTENSOR);
  add("syncopate/syncopate.hpp", "syncopate/syncopate.hpp", XTENSOR);
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
  try {
    return syncopate::run_benchmarks(argc, argv);
  } catch (const syncopate::error& error) {
    std::cerr << error.what() << "\n";
    return 1;
  }
}
