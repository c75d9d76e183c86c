#include "results.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <syncopate/error.hpp>

namespace benchmark_report {
namespace {

using nlohmann::json;

/// The cache sizes are a list of objects.
std::string text_of_caches(const json& caches) {
  std::string text;
  for (const json& cache : caches)
    text += (text.empty() ? "L" : ", L") + cache.at("level").dump() + " " + cache.at("type").get<std::string>() + " " +
            std::to_string(cache.at("size").get<long>() / 1024) + " KiB";
  return text;
}

std::string text_of(const std::string& key, const json& value) {
  if (key == "caches") return text_of_caches(value);
  return value.is_string() ? value.get<std::string>() : value.dump();
}

double seconds_in(const std::string& unit) {
  static const std::map<std::string, double> known{{"ns", 1e-9}, {"us", 1e-6}, {"ms", 1e-3}, {"s", 1}};
  return known.at(unit);
}

std::string shortened(const std::string& name) {
  static const std::regex how("/(iterations|repeats|min_time|min_warmup_time):[^/]*|/(manual|real|process)_time\\b");
  return std::regex_replace(name, how, "");
}

void add_run(const json& run, benchmark_result& result) {
  if (run.value("error_occurred", false)) {
    result.error = run.at("error_message").get<std::string>();
    return;
  }
  static const std::set<std::string> about{"family_index",     "per_family_instance_index",
                                           "repetitions",      "threads",
                                           "repetition_index", "iterations",
                                           "real_time",        "cpu_time"};
  result.values["time"].push_back(run.at("real_time").get<double>() * seconds_in(run.at("time_unit")));
  for (const auto& [key, value] : run.items())
    if (value.is_number() && !about.contains(key)) result.values[key].push_back(value.get<double>());
}

/// Google Benchmark writes numbers that are none, such as the variation of a counter that is 0, as JSON has no word
/// for.
json parsed(std::istream& in) {
  const std::string text(std::istreambuf_iterator<char>(in), {});
  static const std::regex no_number("(\": )-?(NaN|Infinity)\\b");
  return json::parse(std::regex_replace(text, no_number, "$1null"));
}

results read(const json& document) {
  results read;
  for (const auto& [key, value] : document.at("context").items()) read.context.emplace_back(key, text_of(key, value));
  read.program = std::filesystem::path(document.at("context").at("executable").get<std::string>()).filename().string();
  // With --benchmark_enable_random_interleaving, the file has them in the order in which they ended.
  std::vector<json> runs = document.at("benchmarks");
  std::ranges::stable_sort(runs, {}, [](const json& run) {
    return std::pair(run.value("family_index", 0), run.value("per_family_instance_index", 0));
  });
  for (const json& run : runs) {
    if (run.value("run_type", "iteration") != "iteration") continue;  // what Google Benchmark makes of repetitions
    const std::string name = shortened(run.at("name"));
    auto result = std::ranges::find(read.benchmarks, name, &benchmark_result::name);
    if (result == read.benchmarks.end())
      result = read.benchmarks.insert(result, benchmark_result{.name = name, .values = {}, .error = {}});
    add_run(run, *result);
  }
  return read;
}

}  // namespace

results read_results(const std::string& file) {
  std::ifstream in(file);
  if (!in) throw syncopate::error("syncopate: cannot read " + file);
  try {
    results all = read(parsed(in));
    all.file = file;
    if (!all.benchmarks.empty()) return all;
  } catch (const json::exception& fault) {
    throw syncopate::error("syncopate: " + file + " is not what Google Benchmark writes as JSON: " + fault.what());
  } catch (const std::out_of_range&) {
    throw syncopate::error("syncopate: " + file + " has times in a unit that is not ns, us, ms or s");
  }
  throw syncopate::error("syncopate: " + file +
                         " holds no benchmark; --benchmark_report_aggregates_only leaves out what is read here");
}

double benchmark_result::operator[](const std::string& value) const { return median(values.at(value)); }

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  if (values.size() % 2 == 1) return *middle;
  return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

double deviation(const std::vector<double>& values) {
  const double center = median(values);
  std::vector<double> distances(values.size());
  std::ranges::transform(values, distances.begin(), [&](double value) { return std::abs(value - center); });
  return median(distances) / std::abs(center);
}

}  // namespace benchmark_report
