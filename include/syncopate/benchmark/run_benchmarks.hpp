#pragma once

#include <benchmark/benchmark.h>

#include <string_view>
#include <vector>

namespace syncopate {

namespace detail {

/// Reports nothing.
class silent_reporter : public benchmark::BenchmarkReporter {
 public:
  bool ReportContext(const Context&) override { return true; }
  void ReportRuns(const std::vector<Run>&) override {}
};

}  // namespace detail

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
