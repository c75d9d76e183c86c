#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>

#include "../concepts.hpp"
#include "../conformance_report.hpp"
#include "../detail/sweep/roles.hpp"
#include "../detail/validate.hpp"
#include "../error.hpp"
#include "laws.hpp"

/// The laws of a formula alone, and of its hyper-parameters.
namespace syncopate::detail::conformance {

/// What a predictor or a merge makes of one parameter, with some history. `formula(state..., prepared)`.
template <class T, class P, class Formula>
T value_of(const P& policy, Formula formula) {
  constexpr std::size_t vectors = state_vectors<P>;
  std::array<double, observed_terms<P, T>> sums;
  std::array<double, scalars<P>> kept;
  std::array<T, vectors> state;
  std::array<T*, vectors> pointers;
  sums.fill(1);
  kept.fill(1);
  for (std::size_t v = 0; v < vectors; ++v) {
    state[v] = T(v + 2) / T(8);
    pointers[v] = &state[v];
  }
  const coefficients_of<P, T> prepared = prepare(policy, 3, sums, kept);
  return cell<P, T>{policy, prepared, pointers}(formula);
}

/// `formula(landed, state...)` of a policy must not depend on what it does not declare: the engine leaves that zero.
template <class T, class P, class Formula>
void check_facts(conformance_report& report, const P& policy, std::string_view name, Formula formula) {
  const auto value = [&](const landed<T>& m) {
    return static_cast<double>(value_of<T>(policy, [&](auto&... state) { return formula(m, state...); }));
  };
  const landed<T> known{T(0.5), T(0), T(0), T(0), 1};
  const auto depends_on = [&](T landed<T>::*fact) {
    landed<T> other = known;
    other.*fact = T(0.75);
    return !same(value(known), value(other));
  };
  const auto noted = [&](bool declared, T landed<T>::*fact, const std::string& fact_name, const std::string& constant) {
    report.note(conformance_law::declared_facts,
                !declared && depends_on(fact) ? std::string(name) + " depends on landed::" + fact_name + ", but " +
                                                    constant + " is not declared, so that it is always zero"
                                              : "");
  };
  noted(keeps_own<P>, &landed<T>::own, "own", "keeps_own");
  noted(keeps_weights<P>, &landed<T>::weight, "weight", "keeps_weights");
  noted(keeps_weights<P>, &landed<T>::weight_then, "weight_then", "keeps_weights");
}

/// Look-ahead prepares several updates at once, and runs the loop that was compiled for the first one's alternative.
template <class P>
void check_alternatives(conformance_report& report, const P& policy) {
  if constexpr (requires { prepare(policy, 0).index(); }) {
    const std::size_t first = prepare(policy, 0).index();
    std::string found;
    for (std::int64_t count = 1; count < 1000 && found.empty(); ++count)
      if (const std::size_t index = prepare(policy, count).index(); index != first)
        found = "prepare(0) returns alternative " + std::to_string(first) + ", but prepare(" + std::to_string(count) +
                ") alternative " + std::to_string(index);
    report.note(conformance_law::same_alternative, found);
  }
}

/// The n-th of the hyper-parameters that the caller named.
template <class P, class H, class Number>
void check_hyper_parameter(conformance_report& report, const P& policy, Number H::*hyper_parameter, std::size_t n) {
  if constexpr (requires { policy.validate(); } && std::is_floating_point_v<Number>)
    for (const Number value : {std::numeric_limits<Number>::quiet_NaN(), std::numeric_limits<Number>::infinity(),
                               -std::numeric_limits<Number>::infinity()}) {
      P changed = policy;
      changed.*hyper_parameter = value;
      const std::string which = "hyper-parameter " + std::to_string(n) + " as " + detail::text(value);
      std::string found = "it accepts " + which;
      try {
        changed.validate();
      } catch (const configuration_error&) {
        found.clear();
      } catch (...) {
        found = "it refuses " + which + " with \"" + text_of_exception() + "\", which is no configuration_error";
      }
      report.note(conformance_law::hyper_parameters, found);
    }
}

}  // namespace syncopate::detail::conformance
