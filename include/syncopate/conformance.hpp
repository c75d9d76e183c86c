#pragma once

/// Checks a policy of one's own against the laws that every policy has to keep. Needs the standard library only; it is
/// not part of syncopate.hpp, since it compiles the policy into several schemes.

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "averaging/gradient_averaging.hpp"
#include "averaging/lookahead_averaging.hpp"
#include "averaging/weight_averaging.hpp"
#include "concepts.hpp"
#include "conformance/formulas.hpp"
#include "conformance/laws.hpp"
#include "conformance/schedule.hpp"
#include "conformance/training.hpp"
#include "conformance_report.hpp"
#include "delays/fixed_delay.hpp"
#include "delays/periodic_delay.hpp"
#include "detail/sweep/roles.hpp"
#include "predictors/no_prediction.hpp"
#include "rules/sgd.hpp"

namespace syncopate {

/// What `check_conformance` trains with.
struct conformance_options {
  /// Numbers of ranks, which are threads.
  std::vector<int> ranks{1, 2, 3};
  /// Delays in steps, besides 0.
  std::vector<std::int64_t> delays{1, 2};
  std::int64_t steps = 12;
};

namespace detail::conformance {

template <class P>
inline constexpr bool is_predictor = GradientPredictor<P, float> || GradientPredictor<P, double>;
template <class P>
inline constexpr bool is_rule = UpdateRule<P, float> || UpdateRule<P, double>;
template <class P>
inline constexpr bool is_merge = Merge<P, float> || Merge<P, double>;
template <class P>
inline constexpr bool is_averaging = Averaging<P, float> || Averaging<P, double>;

/// Whether an averaging and all its policies work with this element type.
template <class A, class T>
inline constexpr bool works_with =
    Averaging<A, T> &&
    (std::same_as<predictor_type<A>, absent> || GradientPredictor<predictor_type<A>, T>)&&(
        std::same_as<rule_type<A>, absent> ||
        UpdateRule<rule_type<A>, T>)&&(std::same_as<local_rule_type<A>, absent> ||
                                       UpdateRule<local_rule_type<A>, T>)&&(std::same_as<merge_type<A>, absent> ||
                                                                            Merge<merge_type<A>, T>);

template <class T, class A>
subject subject_of(const A& averaging, const std::string& name) {
  subject s;
  s.name = name + (std::same_as<T, float> ? " of floats" : " of doubles");
  s.train = [averaging](const trial& t) {
    if constexpr (advances<A, T>)
      return train<T>(t, periodic_delay{.period = t.delay < 2 ? 2 : t.delay, .delay = t.delay}, averaging);
    else
      return train<T>(t, fixed_delay{t.delay}, averaging);
  };
  if constexpr (!std::same_as<rule_type<A>, absent>)
    s.synchronous = [rule = averaging.rule](const trial& t) {
      return train<T>(t, fixed_delay{0}, gradient_averaging{no_prediction{}, rule});
    };
  s.ranks_differ = advances<A, T>;
  s.observes = observed_terms<predictor_type<A>, T> > 0;
  return s;
}

template <class A>
void check_averaging(conformance_report& report, const A& averaging, const std::string& name,
                     const conformance_options& options) {
  std::vector<std::int64_t> delays{0};
  for (const std::int64_t delay : options.delays)
    if (std::same_as<local_rule_type<A>, absent> || delay <= 1) delays.push_back(delay);
  for (const std::int64_t delay : delays) {
    trial t;
    t.delay = delay;
    t.steps = options.steps;
    if constexpr (works_with<A, float>) check_training(report, subject_of<float>(averaging, name), options.ranks, t);
    if constexpr (works_with<A, double>) check_training(report, subject_of<double>(averaging, name), options.ranks, t);
    if constexpr (works_with<A, float> && works_with<A, double>)
      check_element_types(report, subject_of<float>(averaging, name), subject_of<double>(averaging, name), name, t);
    else
      report.note(conformance_law::element_types,
                  name + " does not compile with " + (works_with<A, float> ? "doubles" : "floats"));
  }
}

/// The policy under test has company that is known to be right.
inline constexpr sgd known_rule{.learning_rate = 0.125, .momentum = 0.5};

template <class P>
void check_predictor(conformance_report& report, const P& policy, const conformance_options& options) {
  const auto predict = [&](const auto& m, auto&... state) { return policy.predict(m, state...); };
  if constexpr (GradientPredictor<P, float>) check_facts<float>(report, policy, "predict", predict);
  if constexpr (GradientPredictor<P, double>) check_facts<double>(report, policy, "predict", predict);
  if constexpr (!requires { requires P::looks_ahead_only; })
    check_averaging(report, gradient_averaging{policy, known_rule}, "gradient_averaging", options);
  check_averaging(report, lookahead_averaging{policy, known_rule}, "lookahead_averaging", options);
}

template <class P>
void check_rule(conformance_report& report, const P& policy, const conformance_options& options) {
  check_alternatives(report, policy);
  check_averaging(report, gradient_averaging{no_prediction{}, policy}, "gradient_averaging", options);
  check_averaging(report, lookahead_averaging{no_prediction{}, policy}, "lookahead_averaging", options);
}

template <class P>
void check_merge(conformance_report& report, const P& policy, const conformance_options& options) {
  const auto merge = [&](const auto& m, auto&... state) { return policy.merge(m.mean / 4, m, state...); };
  if constexpr (Merge<P, float>) check_facts<float>(report, policy, "merge", merge);
  if constexpr (Merge<P, double>) check_facts<double>(report, policy, "merge", merge);
  check_averaging(report, weight_averaging{policy, known_rule}, "weight_averaging", options);
}

}  // namespace detail::conformance

/// Trains with a policy in many ways whose results the laws of this library make equal, and says which law it broke,
/// with the numbers. It sees by itself which kind of policy it is given:
///
/// - a `GradientPredictor` is checked in `lookahead_averaging` and, unless it is declared `looks_ahead_only`, in
///   `gradient_averaging`;
/// - an `UpdateRule` in both, without prediction;
/// - a `Merge` in `weight_averaging`;
/// - an `Averaging` as it is, with the policies in it;
/// - a `DelayPolicy` is asked what it decides in its first 600 steps.
///
///     syncopate::conformance_report report = syncopate::check_conformance(my_predictor{});
///     if (!report) std::cerr << report.text();
///
/// What is checked, with floats and doubles, on each number of ranks and at each delay of the options:
///
/// - Delay 0 is synchronous training, bitwise. Of an averaging with a local move that is asked on one rank: there a
///   mean that equals the weight must not change it, as `w + pull * (mean - w)` does not, and
///   `(1 - pull) * w + pull * mean` does. Of an averaging without a rule it is not asked.
/// - 2 and 4 ranks with equal data train as one rank does; ranks' true weights are equal after each step, bitwise.
/// - The same inputs give the same outputs, bitwise: a second time, in messages of any size, for parameters in any
/// order
///   and any tensors (unless the predictor observes sums), and while another scheme with the same policy trains in
///   turns. Saved in any phase and resumed, training goes on as if nothing had happened. A policy that keeps something
///   between calls, but for its declared state, breaks one of these.
/// - The gradient may be overwritten as soon as the step returns.
/// - Weights stay finite, also from zero gradients, zero weights and a state that is still zero.
/// - As many means are absorbed as messages were launched; training throws nothing.
/// - Float and double agree: 64 roundings in float per step are allowed. A formula that jumps may differ by the jump.
/// - A predictor or merge reads no fact of `landed` that it does not declare; the alternative that a rule's `prepare`
///   returns does not depend on the count.
/// - Of a delay policy: the same answers whenever it is asked; what is due stays due, in the order in which messages
///   left; `most_in_flight` and `launches_every_step` are true. One that learns from means, restored from its `state`,
///   decides as before.
/// - `validate`, if there is one, refuses a NaN and infinities in each of the `hyper_parameters`, pointers to members:
///   `check_conformance(my_rule{}, {}, &my_rule::learning_rate, &my_rule::momentum)`.
///
/// Takes less than a second or two. Throws nothing of its own; what a policy throws is in the report.
template <class P, class... Members>
conformance_report check_conformance(const P& policy, const conformance_options& options = {},
                                     Members... hyper_parameters) {
  namespace kit = detail::conformance;
  static_assert(kit::is_predictor<P> || kit::is_rule<P> || kit::is_merge<P> || kit::is_averaging<P> || DelayPolicy<P>,
                "syncopate: check_conformance needs a GradientPredictor, an UpdateRule, a Merge, an Averaging or a "
                "DelayPolicy; see syncopate/concepts.hpp");
  conformance_report report;
  try {
    std::size_t number = 0;
    (kit::check_hyper_parameter(report, policy, hyper_parameters, ++number), ...);
    if constexpr (kit::is_predictor<P>) kit::check_predictor(report, policy, options);
    if constexpr (kit::is_rule<P>) kit::check_rule(report, policy, options);
    if constexpr (kit::is_merge<P>) kit::check_merge(report, policy, options);
    if constexpr (kit::is_averaging<P>) kit::check_averaging(report, policy, "the averaging", options);
    if constexpr (DelayPolicy<P>) kit::check_delay(report, policy);
  } catch (...) {
    report.note(conformance_law::training_ends, "a call ended with \"" + kit::text_of_exception() + "\"");
  }
  return report;
}

}  // namespace syncopate
