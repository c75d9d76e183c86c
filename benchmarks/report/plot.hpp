#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace benchmark_report {

/// A line in a plot.
struct curve {
  std::string title;
  std::vector<std::pair<double, double>> points;
  bool reference = false;  ///< what the others are compared with: dashed, black
};

/// Curves over a logarithmic axis.
struct line_plot {
  std::string title, x_label, y_label;
  std::vector<curve> curves;
  bool logarithmic = false;      ///< the other axis, too
  std::optional<double> mark{};  ///< a horizontal line there
};

struct bar {
  std::string label;
  double length = 0;
  std::string text;  ///< beside it
};

/// Horizontal bars from 0, the first one on top.
struct bar_plot {
  std::string title, x_label;
  std::vector<bar> bars;
  std::optional<double> mark{};  ///< a vertical line there
};

/// Draws by gnuplot; returns an <svg> element. The data, the script and the picture stay in the directory, as
/// `name`.dat, .gnuplot and .svg. Throws `syncopate::error`.
std::string draw(const line_plot& plot, const std::string& directory, const std::string& name);
std::string draw(const bar_plot& plot, const std::string& directory, const std::string& name);

}  // namespace benchmark_report
