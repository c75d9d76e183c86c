#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace benchmark_report {

/// What one file says of one benchmark.
struct benchmark_result {
  std::string name;  ///< without what only says how it was measured, such as /iterations:11 and /manual_time
  /// "time" (in seconds) and counters, with one value per repetition.
  std::map<std::string, std::vector<double>> values;
  std::string error;  ///< why there are no values

  bool has(const std::string& value) const { return values.contains(value); }
  /// Median over repetitions. The value must be there.
  double operator[](const std::string& value) const;
};

/// One file of Google Benchmark's.
struct results {
  std::string file;
  std::string program;
  /// Machine, date, and whatever else the program says of itself, as text.
  std::vector<std::pair<std::string, std::string>> context;
  std::vector<benchmark_result> benchmarks;  ///< in the order in which they were registered
};

/// Reads what --benchmark_out writes as JSON. Throws `syncopate::error` if the file is something else, or holds no
/// benchmark.
results read_results(const std::string& file);

/// The median; of two in the middle, their mean. There must be a value.
double median(std::vector<double> values);

/// Median absolute deviation from the median, as a part of the median. There must be a value.
double deviation(const std::vector<double>& values);

}  // namespace benchmark_report
