#include "figures.hpp"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>
#include <utility>

#include "text.hpp"

namespace benchmark_report {
namespace {

enum class kind { update, sum, header, instructions, other };

kind kind_of(const benchmark_result& one) {
  if (one.has("bytes_per_second")) return one.has("bytes_per_parameter") ? kind::update : kind::sum;
  if (one.has("lines")) return kind::header;
  if (one.has("instruction_ratio_to_hand_fused")) return kind::instructions;
  return kind::other;
}

std::vector<const benchmark_result*> results_of(kind wanted, const results& file) {
  std::vector<const benchmark_result*> found;
  for (const benchmark_result& one : file.benchmarks)
    if (one.has("time") && kind_of(one) == wanted) found.push_back(&one);
  return found;
}

/// A name such as path/of/parts/1024.
struct sized_name {
  std::vector<std::string> parts;
  double size = 0;

  /// With blanks between the parts from `begin`; without part `left_out`.
  std::string joined(std::size_t left_out = std::string::npos) const {
    std::string text;
    for (std::size_t n = 0; n < parts.size(); ++n)
      if (n != left_out) text += (text.empty() ? "" : " ") + parts[n];
    return text;
  }
};

std::optional<sized_name> sized(const std::string& name) {
  sized_name found;
  std::size_t begin = 0;
  for (std::size_t end = 0; (end = name.find('/', begin)) != std::string::npos; begin = end + 1)
    found.parts.push_back(name.substr(begin, end - begin));
  char* rest = nullptr;
  found.size = std::strtod(name.c_str() + begin, &rest);
  if (found.parts.empty() || rest == name.c_str() + begin || *rest != '\0' || found.size <= 0) return std::nullopt;
  return found;
}

/// A benchmark whose name ends with its size, and has those values.
struct sized_result {
  sized_name name;
  const benchmark_result* result;
};

std::vector<sized_result> sized_results_of(kind wanted, const results& file) {
  std::vector<sized_result> found;
  for (const benchmark_result* one : results_of(wanted, file))
    if (const auto name = sized(one->name)) found.push_back({*name, one});
  return found;
}

/// What the ratios are to, of any of these.
std::set<std::string> ratios_of(const std::vector<sized_result>& from) {
  std::set<std::string> names;
  for (const auto& one : from)
    for (const auto& [value, numbers] : one.result->values)
      if (value.starts_with("ratio_to_")) names.insert(value.substr(9));
  return names;
}

/// Points in groups, each of which becomes a plot with a curve for each line.
class grouped_points {
 public:
  void add(const std::string& group, const std::string& line, double x, double y) {
    auto& curves = at(groups_, group);
    auto& points = at(curves, line);
    points.emplace_back(x, y);
  }

  /// A point of the group's reference, which is the median of all that are added.
  void add_reference(const std::string& group, double x, double y) { references_[group][x].push_back(y); }

  /// Makes the plots after the pattern of one, whose title the group's name follows.
  std::vector<std::variant<line_plot, bar_plot>> plots(const line_plot& pattern, const std::string& reference) const {
    std::vector<std::variant<line_plot, bar_plot>> made;
    for (const auto& [group, lines] : groups_) {
      line_plot plot = pattern;
      plot.title += group;
      for (const auto& [line, points] : lines) plot.curves.push_back({line, points});
      if (const auto found = references_.find(group); found != references_.end()) {
        curve& one = plot.curves.emplace_back(curve{reference, {}, true});
        for (const auto& [x, values] : found->second) one.points.emplace_back(x, median(values));
      }
      for (curve& one : plot.curves) std::ranges::sort(one.points);
      made.emplace_back(std::move(plot));
    }
    return made;
  }

 private:
  /// In the order in which they come.
  template <class T>
  using named = std::vector<std::pair<std::string, T>>;

  template <class T>
  static T& at(named<T>& all, const std::string& name) {
    for (auto& [known, value] : all)
      if (known == name) return value;
    return all.emplace_back(name, T{}).second;
  }

  named<named<std::vector<std::pair<double, double>>>> groups_;
  std::map<std::string, std::map<double, std::vector<double>>> references_;
};

void add_if_drawn(std::vector<figure>& figures, figure&& one) {
  if (!one.plots.empty()) figures.push_back(std::move(one));
}

/// Ratios of updates of the largest size, as bars.
bar_plot ratio_bars(const std::vector<sized_result>& updates, const std::string& other) {
  const std::string value = "ratio_to_" + other;
  double largest = 0;
  for (const auto& [name, result] : updates)
    if (result->has(value)) largest = std::max(largest, name.size);
  bar_plot plot{.title = format("time of a step / time of %s, %.0f parameters", other.c_str(), largest),
                .x_label = "less is faster",
                .bars = {},
                .mark = 1};
  for (const auto& [name, result] : updates) {
    if (!result->has(value) || name.size != largest) continue;
    const double ratio = (*result)[value];
    plot.bars.push_back({name.joined(), ratio, format("%.2f", ratio)});
  }
  return plot;
}

void add_updates(std::vector<figure>& figures, const results& file) {
  const auto updates = sized_results_of(kind::update, file);
  figure ratios{"Whole steps next to other code for the same update, timed in turns.", {}};
  for (const std::string& other : ratios_of(updates))
    if (other != "memcpy") ratios.plots.emplace_back(ratio_bars(updates, other));
  add_if_drawn(figures, std::move(ratios));

  grouped_points bandwidths;  // averaging/predictor/rule/element: a plot has all predictors
  for (const auto& [name, result] : updates) {
    const std::size_t line = std::min<std::size_t>(1, name.parts.size() - 1);
    const std::string group = name.joined(line);
    const double bandwidth = 1e-9 * (*result)["bytes_per_second"];
    bandwidths.add(group, name.parts[line], name.size, bandwidth);
    if (result->has("ratio_to_memcpy"))
      bandwidths.add_reference(group, name.size, bandwidth * (*result)["ratio_to_memcpy"]);
  }
  add_if_drawn(figures,
               {"Bytes that one pass over memory has to read and write, per second. memcpy reads and writes as "
                "many, timed in turns with the steps.",
                bandwidths.plots({.title = "", .x_label = "parameters", .y_label = "GB/s", .curves = {}}, "memcpy")});
}

void add_sums(std::vector<figure>& figures, const results& file) {
  const auto sums = sized_results_of(kind::sum, file);
  const auto line = [](const sized_name& name) { return name.parts.back(); };
  const auto group = [](const sized_name& name) { return name.joined(name.parts.size() - 1); };
  const std::set<std::string> others = ratios_of(sums);
  const std::string reference = others.empty() ? "" : *others.begin();
  grouped_points times;
  for (const auto& [name, result] : sums) {
    times.add(group(name), line(name), name.size, 1e6 * (*result)["time"]);
    if (result->has("ratio_to_" + reference))
      times.add_reference(group(name), name.size, 1e6 * (*result)["time"] / (*result)["ratio_to_" + reference]);
  }
  figure both{
      "From the start of a sum over ranks until the slowest rank has it.",
      times.plots({.title = "time: ", .x_label = "bytes", .y_label = "microseconds", .curves = {}, .logarithmic = true},
                  reference)};
  for (const std::string& other : others) {
    grouped_points ratios;
    for (const auto& [name, result] : sums)
      if (result->has("ratio_to_" + other))
        ratios.add(group(name), line(name), name.size, (*result)["ratio_to_" + other]);
    for (auto& plot : ratios.plots({.title = "time / time of " + other + ": ",
                      .x_label = "bytes",
                      .y_label = "ratio",
                      .curves = {},
                      .logarithmic = true,
                      .mark = 1},
                                   ""))
      both.plots.push_back(std::move(plot));
  }
  add_if_drawn(figures, std::move(both));
}

void add_headers(std::vector<figure>& figures, const results& file) {
  bar_plot plot{.title = "time to check a file that includes a header and nothing else", .x_label = "ms", .bars = {}};
  for (const benchmark_result* one : results_of(kind::header, file)) {
    std::string text = format("%.0f lines", (*one)["lines"]);
    for (const auto& [value, numbers] : one->values)
      if (value.starts_with("ratio_to_")) text += format(", %.2f of %s", median(numbers), value.c_str() + 9);
    plot.bars.push_back({one->name.substr(one->name.find('/') + 1), 1e3 * (*one)["time"], text});
  }
  if (!plot.bars.empty()) figures.push_back({"Lines are counted after preprocessing.", {std::move(plot)}});
}

void add_instructions(std::vector<figure>& figures, const results& file) {
  bar_plot plot{.title = "instructions / instructions of the loop by hand", .x_label = "", .bars = {}, .mark = 1};
  for (const benchmark_result* one : results_of(kind::instructions, file)) {
    const double ratio = (*one)["instruction_ratio_to_hand_fused"];
    plot.bars.push_back({one->name.substr(one->name.find('/') + 1), ratio, format("%.2f", ratio)});
  }
  if (!plot.bars.empty()) figures.push_back({"Instructions are counted by valgrind.", {std::move(plot)}});
}

/// Anything else: one curve for each name that ends with a number, a bar for those that do not.
void add_others(std::vector<figure>& figures, const results& file) {
  grouped_points times;
  for (const auto& [name, result] : sized_results_of(kind::other, file))
    times.add(name.joined(), name.joined(), name.size, 1e6 * (*result)["time"]);
  figure all{"Time against the number that ends the benchmark's name; and the time of those without one.", {}};
  all.plots = times.plots({.title = "", .x_label = "", .y_label = "microseconds", .curves = {}}, "");
  bar_plot bars{.title = "time", .x_label = "microseconds", .bars = {}};
  for (const benchmark_result* one : results_of(kind::other, file))
    if (!sized(one->name)) bars.bars.push_back({one->name, 1e6 * (*one)["time"], text_of_time((*one)["time"])});
  if (!bars.bars.empty()) all.plots.emplace_back(std::move(bars));
  add_if_drawn(figures, std::move(all));
}

}  // namespace

std::vector<figure> figures_of(const results& file) {
  std::vector<figure> figures;
  add_updates(figures, file);
  add_sums(figures, file);
  add_headers(figures, file);
  add_instructions(figures, file);
  add_others(figures, file);
  return figures;
}

}  // namespace benchmark_report
