#pragma once

#include "../concepts.hpp"
#include "../statistics.hpp"
#include "roles.hpp"

namespace syncopate::detail {

/// Vectors as large as the weights that one step of a scheme has to read or write, at least: what is read and written
/// counts twice, what several formulas of one loop share counts once. A mean over the steps that were taken.
template <Element T, class A>
double vectors_moved([[maybe_unused]] const A& averaging, const statistics& taken) {
  using P = predictor_type<A>;
  constexpr bool moves = advances<A, T>, ahead = looks_ahead<A, T>;
  constexpr double own = any_keeps_own<A>, then = any_keeps_weights<A>;
  constexpr double predictor = 2 * state_vectors<P>, rule = 2 * state_vectors<rule_type<A>>;
  constexpr double local_rule = 2 * state_vectors<local_rule_type<A>>, merge = 2 * state_vectors<merge_type<A>>;
  constexpr double read = 1, write = 1, update = 2;

  double advance = 0, message = write + own * write + then * write, absorb = read + update + predictor + merge;
  if constexpr (moves) {
    advance = read + update + rule;  // the gradient, the weights
  } else {
    message += read + then * read;  // the gradient, the weights
    absorb += rule;
  }
  absorb += then * read;
  if constexpr (!ahead) absorb += own * read;
  if constexpr (observed_terms < P, T >> 0) {
    bool again = true;  // the sums over a tensor come before the loop
    if constexpr (requires { averaging.predictor.per; }) again = averaging.predictor.per == granularity::tensor;
    if (again) absorb += read + predictor / 2;
  }
  if (taken.steps == 0) return 0;
  const auto steps = static_cast<double>(taken.steps), launched = static_cast<double>(taken.launched),
             absorbed = static_cast<double>(taken.absorbed);
  double all = advance + message * launched / steps + absorb * absorbed / steps;
  if constexpr (ahead) all += write + (own + then) * read * (launched - absorbed) + local_rule;
  return all;
}

}  // namespace syncopate::detail
