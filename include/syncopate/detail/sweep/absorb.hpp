#pragma once

#include <cmath>
#include <cstddef>

#include "../elements/loop.hpp"
#include "arrival.hpp"
#include "roles.hpp"

#if defined(__clang__)
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wpass-failed"  // a formula that cannot be vectorised is no fault
#endif

namespace syncopate::detail {

/// Turns a landed sum into a mean. Returns what the formulas' loop multiplies it by: a power of two, since such a
/// product is exact; any other could be contracted with what a formula does next, differently in different loops. So
/// where the number of samples is no power of two, the sum is divided by it here, in a pass of its own.
template <class T>
T make_mean(T* elements, std::size_t count, T samples, T shrink) {
  int exponent = 0;
  if (shrink == T(1) && std::frexp(samples, &exponent) == T(0.5)) return T(1) / samples;
  if (shrink == T(1))
    for_each_element(count, [=](std::size_t i) SYNCOPATE_INLINE_LAMBDA { elements[i] /= samples; });
  else
    for_each_element(count,
                     [=](std::size_t i) SYNCOPATE_INLINE_LAMBDA { elements[i] = elements[i] / samples * shrink; });
  return T(1);
}

/// Loop 2: folds a mean into the weights. Whether it is fresh or late is known outside the loop, so that a formula may
/// ask.
template <bool Fresh, class T, class A>
void absorb_mean(const A& averaging, const placed_policies<A, T>& policies, const arrival<T, A>& mean, T* weight,
                 std::size_t count) {
  const A formulas = averaging;
  with_bound<Fresh>(policies, [=](auto with_at) {
    arrival<T, A> known = mean;
    if constexpr (!looks_ahead<A, T>) known.staleness = Fresh ? 0 : (mean.staleness > 1 ? mean.staleness : 1);
    for_each_element(count, [=](std::size_t i) SYNCOPATE_INLINE_LAMBDA {
      const auto with = with_at(i);
      const landed<T> m = known.at(i);
      formulas.absorb(weight[i], m, with);
      if constexpr (looks_ahead<A, T> && state_vectors < predictor_type < A >>> 0) with.predict(m);  // for its history
    });
  });
}

}  // namespace syncopate::detail

#if defined(__clang__)
#pragma clang diagnostic pop
#endif
