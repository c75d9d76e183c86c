#pragma once

/// Measures what an update costs, and what a sum over ranks costs, with Google Benchmark, which this header needs; it
/// is not part of syncopate.hpp.
///
///     int main(int argc, char** argv) {
///       syncopate::benchmark_update(
///           "mine", [](auto& weights) { return syncopate::lookahead_sgd(weights, syncopate::loopback{}, my_rule{}); },
///           [](auto& x) {  // the loop to compare with; may be left out
///             for (std::size_t i = 0; i < x.size; ++i) x.message[i] = x.gradient[i];
///             for (std::size_t i = 0; i < x.size; ++i) x.weights[i] -= 0.1F * x.landed[i];
///           });
///       return syncopate::run_benchmarks(argc, argv);
///     }
///
/// Everything that is compared is timed in turns, in one run, and a ratio is the median of the ratios of such pairs:
/// that holds on a machine whose speed changes from second to second, where two times do not compare.

#include "benchmark/benchmark_sum.hpp"
#include "benchmark/benchmark_update.hpp"
#include "benchmark/run_benchmarks.hpp"
