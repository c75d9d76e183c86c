#pragma once

#include <variant>
#include <vector>

#include "plot.hpp"
#include "results.hpp"

namespace benchmark_report {

/// Some plots, and what they show.
struct figure {
  std::string text;
  std::vector<std::variant<line_plot, bar_plot>> plots;
};

/// What there is to see in a file, by the columns that its benchmarks have: those of `syncopate::benchmark_update` and
/// `benchmark_sum`, `lines` of a header, `instruction_ratio_to_hand_fused`, and any others.
std::vector<figure> figures_of(const results& file);

}  // namespace benchmark_report
