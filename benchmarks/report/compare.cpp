#include "compare.hpp"

#include <algorithm>
#include <cmath>
#include <ostream>
#include <syncopate/error.hpp>

#include "text.hpp"

namespace benchmark_report {
namespace {

struct difference {
  double before = 0, after = 0;
  std::optional<double> noise;  ///< part of the value

  double growth() const { return after / before - 1; }
  bool exceeds_noise() const { return noise && std::abs(growth()) > *noise; }
  bool fails_above(double percent) const { return 100 * growth() > percent && (!noise || exceeds_noise()); }
};

difference between(const std::vector<double>& before, const std::vector<double>& after) {
  difference found{.before = median(before), .after = median(after), .noise = {}};
  for (const auto* values : {&before, &after})
    if (values->size() > 1) found.noise = std::max(found.noise.value_or(0), 3 * deviation(*values));
  return found;
}

std::string verdict(const difference& found) {
  if (!found.exceeds_noise()) return "";
  return found.growth() > 0 ? "  more" : "  less";
}

void print_row(std::ostream& out, int width, const std::string& name, const std::string& value,
               const difference& found) {
  out << format("%-*s  %-31s  %12s  %12s  %8.3f  %8s%s\n", width, name.c_str(), value.c_str(),
                text_of_value(value, found.before).c_str(), text_of_value(value, found.after).c_str(),
                found.after / found.before, found.noise ? format("%.1f %%", 100 * *found.noise).c_str() : "-",
                verdict(found).c_str());
}

const benchmark_result* find(const results& in, const std::string& name) {
  const auto found = std::ranges::find(in.benchmarks, name, &benchmark_result::name);
  return found == in.benchmarks.end() ? nullptr : &*found;
}

void print_missing(std::ostream& out, const results& from, const results& other) {
  for (const benchmark_result& one : from.benchmarks)
    if (!find(other, one.name)) out << "only in " << from.file << ": " << one.name << "\n";
}

}  // namespace

bool compare(std::ostream& out, const results& before, const results& after, std::optional<double> fail_above) {
  std::size_t width = 0;
  for (const benchmark_result& one : before.benchmarks)
    if (find(after, one.name)) width = std::max(width, one.name.size());
  if (width == 0) throw syncopate::error("syncopate: " + before.file + " and " + after.file + " share no benchmark");

  const int columns = static_cast<int>(width);
  out << format("%-*s  %-31s  %12s  %12s  %8s  %8s\n", columns, "benchmark", "", "old", "new", "new/old", "noise");
  int judged = 0, differ = 0, failed = 0;
  for (const benchmark_result& one : before.benchmarks) {
    const benchmark_result* const other = find(after, one.name);
    if (!other) continue;
    for (const benchmark_result* side : {&one, other})
      if (!side->error.empty()) out << format("%-*s  failed: ", columns, one.name.c_str()) << side->error << "\n";
    failed += fail_above && !other->error.empty();
    std::string name = one.name;
    const auto row = [&](const std::string& value) {
      if (!one.has(value) || !other->has(value)) return;
      const difference found = between(one.values.at(value), other->values.at(value));
      print_row(out, columns, name, value, found);
      name.clear();
      judged += found.noise.has_value();
      differ += found.exceeds_noise();
      failed += fail_above && found.fails_above(*fail_above);
    };
    row("time");
    for (const auto& [value, numbers] : one.values)
      if (value.find("ratio_") != std::string::npos) row(value);
  }
  print_missing(out, before, after);
  print_missing(out, after, before);
  out << format("%d of %d values whose noise is known, from repetitions, differ by more than that.\n", differ, judged);
  if (failed > 0) out << format("%d grew by more than %g %%, or failed.\n", failed, *fail_above);
  return failed == 0;
}

}  // namespace benchmark_report
