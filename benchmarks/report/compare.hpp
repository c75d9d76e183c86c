#pragma once

#include <iosfwd>
#include <optional>

#include "results.hpp"

namespace benchmark_report {

/// Prints a table of times and of ratios, old and new, of the benchmarks that both have. Returns
/// whether none of them grew by more than `fail_above` percent, and by more than its noise.
///
/// Noise is three times the median absolute deviation over repetitions, in the noisier file: about two standard
/// deviations, if deviations are normally distributed. Without repetitions it is not known.
///
/// Throws `syncopate::error` if the files have no benchmark in common.
bool compare(std::ostream& out, const results& before, const results& after, std::optional<double> fail_above);

}  // namespace benchmark_report
