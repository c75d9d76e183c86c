#pragma once

#include <cstdint>

#include "../concepts.hpp"
#include "../detail/sweep/roles.hpp"
#include "../statistics.hpp"

namespace syncopate::detail {

/// Vectors as large as the weights that one step of a scheme has to read or write, at least: what is read and written
/// counts twice, what several formulas of one loop share counts once. A mean over the steps between two statistics.
template <Element T, class A>
double vectors_moved([[maybe_unused]] const A& averaging, const statistics& before, const statistics& after) {
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
  const auto per_step = [&](std::int64_t statistics::*counter) {
    return static_cast<double>(after.*counter - before.*counter) / static_cast<double>(after.steps - before.steps);
  };
  double all = advance + message * per_step(&statistics::launched) + absorb * per_step(&statistics::absorbed);
  if constexpr (ahead)
    all += write + (own + then) * read * static_cast<double>(after.launched - after.absorbed) + local_rule;
  return all;
}

}  // namespace syncopate::detail
