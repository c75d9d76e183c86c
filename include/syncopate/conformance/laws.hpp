#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "../conformance_report.hpp"
#include "../detail/validate.hpp"
#include "training.hpp"

/// The laws that compare trainings.
namespace syncopate::detail::conformance {

/// An averaging with its policies, for one element type.
struct subject {
  std::string name;
  std::function<trial_result(const trial&)> train;
  std::function<trial_result(const trial&)> synchronous;  ///< its rule in synchronous training; none without a rule
  bool ranks_differ = false;                              ///< ranks hold weights of their own
  bool observes = false;  ///< the predictor sees sums over tensors or chunks, which depend on how tensors are cut
};

inline std::string text_of(const trial_result& result, double value) {
  return result.of_floats ? detail::text(static_cast<float>(value)) : detail::text(value);
}

/// Which step and parameter the element of a record belongs to.
inline std::string place(const trial_result& result, std::size_t index, std::string_view what) {
  const std::size_t step = index / result.parameters, steps = result.weights[0].size() / result.parameters - 1;
  return (step < steps ? "after step " + std::to_string(step) : std::string("after finish")) + " the " +
         std::string(what) + " of parameter " + std::to_string(index % result.parameters);
}

/// Bitwise, but that any NaN equals any other.
inline bool same(double a, double b) {
  return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b) || (std::isnan(a) && std::isnan(b));
}

/// Where two trainings differ first, if they do, and how they were made. An `expected` one on one rank is expected on
/// all.
inline std::string difference(const trial_result& got, std::string_view how_got, const trial_result& expected,
                              std::string_view how_expected) {
  if (!got.failure.empty()) return "training " + std::string(how_got) + " ended with \"" + got.failure + "\"";
  if (!expected.failure.empty())
    return "training " + std::string(how_expected) + " ended with \"" + expected.failure + "\"";
  struct part {
    std::string_view name;
    std::vector<std::vector<double>> trial_result::*of;
  };
  for (const part p : {part{"weight", &trial_result::weights}, part{"consensus", &trial_result::consensus}})
    for (std::size_t rank = 0; rank < (got.*p.of).size(); ++rank) {
      const auto& ours = (got.*p.of)[rank];
      const auto& theirs = (expected.*p.of)[std::min(rank, (expected.*p.of).size() - 1)];
      const auto [at, there] = std::ranges::mismatch(ours, theirs, same);
      if (at != ours.end())
        return place(got, static_cast<std::size_t>(at - ours.begin()), p.name) + " on rank " + std::to_string(rank) +
               " is " + text_of(got, *at) + " " + std::string(how_got) + ", but " + text_of(expected, *there) + " " +
               std::string(how_expected);
    }
  return {};
}

/// Where ranks' true weights differ first, if they do.
inline std::string disagreement_of_ranks(const trial_result& got) {
  for (std::size_t rank = 1; rank < got.consensus.size(); ++rank) {
    const auto& first = got.consensus[0];
    const auto [at, there] = std::ranges::mismatch(first, got.consensus[rank], same);
    if (at != first.end())
      return place(got, static_cast<std::size_t>(at - first.begin()), "true weight") + " is " + text_of(got, *at) +
             " on rank 0, but " + text_of(got, *there) + " on rank " + std::to_string(rank);
  }
  return {};
}

/// The first weight that is not finite, if there is one.
inline std::string not_finite(const trial_result& got) {
  if (!got.failure.empty()) return "it ended with \"" + got.failure + "\"";
  for (const auto& weights : got.weights) {
    const auto at = std::ranges::find_if(weights, [](double w) { return !std::isfinite(w); });
    if (at != weights.end())
      return place(got, static_cast<std::size_t>(at - weights.begin()), "weight") + " is " + text_of(got, *at);
  }
  return {};
}

inline std::string not_absorbed(const trial_result& got) {
  for (std::size_t rank = 0; rank < got.launched.size(); ++rank)
    if (got.launched[rank] != got.absorbed[rank])
      return std::to_string(got.launched[rank]) + " messages were launched, but " + std::to_string(got.absorbed[rank]) +
             " absorbed, on rank " + std::to_string(rank);
  return {};
}

/// Where floats are further from doubles than rounding explains: 64 roundings per step, of the largest weight.
inline std::string disagreement_of_types(const trial_result& floats, const trial_result& doubles) {
  for (const trial_result* one : {&floats, &doubles})
    if (!one->failure.empty())
      return std::string(one->of_floats ? "float" : "double") + " ended with \"" + one->failure + "\"";
  double largest = 1;
  for (const auto& weights : doubles.weights)
    for (const double w : weights) largest = std::max(largest, std::abs(w));
  for (std::size_t rank = 0; rank < floats.weights.size(); ++rank)
    for (std::size_t i = 0; i < floats.weights[rank].size(); ++i) {
      const double a = floats.weights[rank][i], b = doubles.weights[rank][i];
      const double roundings = 64. * static_cast<double>(i / floats.parameters + 1);
      if (!same(a, b) && !(std::abs(a - b) <= roundings * std::numeric_limits<float>::epsilon() * largest))
        return place(floats, i, "weight") + " is " + text_of(floats, a) + " in float, but " + text_of(doubles, b) +
               " in double, on rank " + std::to_string(rank);
    }
  return {};
}

/// Notes what `found` says, if anything, and of which training.
inline void note(conformance_report& report, conformance_law law, const std::string& name, const trial& t,
                 const std::string& found) {
  report.note(law, found.empty() ? found : "in " + name + " " + t.text() + ", " + found);
}

/// The laws of an averaging at one delay. Whatever a policy may do wrong, each of them is an equality of two trainings,
/// or holds within one.
inline void check_training(conformance_report& report, const subject& s, const std::vector<int>& ranks, trial t) {
  using law = conformance_law;
  const auto noted = [&](law broken, const trial& of, const std::string& found) {
    note(report, broken, s.name, of, found);
  };

  for (const int number : ranks) {
    t.ranks = number;
    const trial_result base = s.train(t);
    noted(law::training_ends, t, base.failure.empty() ? "" : "it ended with \"" + base.failure + "\"");
    if (!base.failure.empty()) continue;  // there is nothing to compare
    noted(law::finite, t, not_finite(base));
    noted(law::all_absorbed, t, not_absorbed(base));
    if (!s.ranks_differ) noted(law::ranks_agree, t, disagreement_of_ranks(base));
    if (t.delay == 0 && s.synchronous && (!s.ranks_differ || number == 1))
      noted(law::delay_zero, t, difference(base, "at delay 0", s.synchronous(t), "in synchronous training"));

    const auto same_as_base = [&](law broken, const std::string& how_other, std::string_view how_base, auto change) {
      trial other = t;
      change(other);
      noted(broken, t, difference(s.train(other), how_other, base, how_base));
    };
    same_as_base(law::reproducible, "the second time", "the first time", [](trial&) {});
    same_as_base(law::gradient_copied, "where the gradient is left as it was", "where it is overwritten",
                 [](trial& other) { other.keeps_gradients = true; });
    same_as_base(law::declared_state, "in turns with another training", "alone",
                 [](trial& other) { other.in_turns = true; });
    same_as_base(law::buckets, "with a message per tensor", "with one for all",
                 [](trial& other) { other.bucket_bytes = 1; });
    for (std::int64_t step = 1; step < std::min(t.steps, 2 * t.delay + 3); ++step)
      same_as_base(law::resumed, "resumed after " + std::to_string(step) + " steps", "uninterrupted",
                   [&](trial& other) { other.saved_after = step; });
    if (s.observes) continue;
    same_as_base(law::element_wise, "in another order", "in order", [](trial& other) { other.shuffled = true; });
    same_as_base(law::element_wise, "in one tensor", "in several",
                 [](trial& other) { other.sizes.assign(1, other.parameters()); });
    same_as_base(law::element_wise, "in tensors of 7", "in larger ones", [](trial& other) {
      const std::size_t all = other.parameters();
      other.sizes.assign(all / 7, 7);
      other.sizes.push_back(all % 7);
    });
  }

  trial zero = t;
  zero.ranks = 2;
  zero.zero_gradients = true;
  noted(law::finite, zero, not_finite(s.train(zero)));

  trial equal = t;
  equal.equal_ranks = true;
  equal.ranks = 1;
  const trial_result alone = s.train(equal);
  for (const int number : {2, 4}) {  // sums of so many equal numbers are exact
    equal.ranks = number;
    noted(law::equal_ranks, equal, difference(s.train(equal), "here", alone, "on one rank"));
  }
}

/// Whether an averaging computes alike with both element types.
inline void check_element_types(conformance_report& report, const subject& floats, const subject& doubles,
                                const std::string& name, const trial& t) {
  note(report, conformance_law::element_types, name, t, disagreement_of_types(floats.train(t), doubles.train(t)));
}

}  // namespace syncopate::detail::conformance
