#pragma once

#include <cstdio>
#include <string>

namespace benchmark_report {

template <class... Values>
std::string format(const char* pattern, Values... values) {
  char text[512];
  std::snprintf(text, sizeof text, pattern, values...);
  return text;
}

/// 1.235 ms
inline std::string text_of_time(double seconds) {
  if (seconds >= 1) return format("%.4g s", seconds);
  if (seconds >= 1e-3) return format("%.4g ms", 1e3 * seconds);
  if (seconds >= 1e-6) return format("%.4g us", 1e6 * seconds);
  return format("%.4g ns", 1e9 * seconds);
}

/// A value of a `benchmark_result`.
inline std::string text_of_value(const std::string& name, double value) {
  if (name == "time") return text_of_time(value);
  if (name == "bytes_per_second") return format("%.4g GB/s", 1e-9 * value);
  return format(name.find("ratio_") != std::string::npos ? "%.4g" : "%g", value);
}

}  // namespace benchmark_report
