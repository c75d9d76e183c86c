#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "../elements/loop.hpp"
#include "roles.hpp"

#if defined(__clang__)
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wpass-failed"  // a formula that cannot be vectorised is no fault
#endif

namespace syncopate::detail {

/// Where a mean lies and what belongs to it, from some element on. Pointers to what is not kept are null.
template <class T, class A>
struct arrival {
  const T* sum = nullptr;
  T scale = T(1);
  const T* own = nullptr;
  const T* weight = nullptr;
  const T* weight_then = nullptr;
  int staleness = 0;

  /// The same from another element on.
  arrival advanced_by(std::size_t offset) const {
    arrival result = *this;
    for (const T** start : {&result.sum, &result.own, &result.weight, &result.weight_then})
      if (*start) *start += offset;
    return result;
  }
  /// What a formula is told of one element.
  SYNCOPATE_ALWAYS_INLINE landed<T> at(std::size_t i) const {
    landed<T> m{sum[i] * scale, T(0), T(0), T(0), staleness};
    if constexpr (any_keeps_own<A>) m.own = own[i];
    if constexpr (any_keeps_weights<A>) {
      m.weight = weight[i];
      m.weight_then = weight_then[i];
    }
    return m;
  }
};

/// Sums what the predictor observes over `count` elements, and prepares it. `earlier` updates came before.
template <class T, class A>
auto observe(const placed<predictor_type<A>, T>& predictor, const arrival<T, A>& mean, std::size_t count,
             std::int64_t earlier, std::array<double, scalars<predictor_type<A>>>& kept) {
  using P = predictor_type<A>;
  constexpr std::size_t terms = observed_terms<P, T>;
  constexpr std::size_t lanes = small_chunk_length;  // sums that do not wait for each other
  const placed<P, T> here = predictor;
  const arrival<T, A> known = mean;
  std::array<double, terms> sums{};
  for (std::size_t begin = 0; begin < count; begin += chunk_length) {
    const std::size_t end = count < begin + chunk_length ? count : begin + chunk_length;
    alignas(64) T partial[terms][lanes] = {};
    const auto add = [&](std::size_t lane, std::size_t i) SYNCOPATE_INLINE_LAMBDA {
      [&]<std::size_t... S, std::size_t... K>(std::index_sequence<S...>, std::index_sequence<K...>)
          SYNCOPATE_INLINE_LAMBDA {
        const std::array<T, terms> seen = here.policy.observe(known.at(i), std::as_const(here.state[S][i])...);
        ((partial[K][lane] += seen[K]), ...);
      }
      (std::make_index_sequence<state_vectors<P>>{}, std::make_index_sequence<terms>{});
    };
    std::size_t first = begin;
    for (; first + lanes <= end; first += lanes) {
      const auto add_at_first = [&](std::size_t lane) SYNCOPATE_INLINE_LAMBDA { add(lane, first + lane); };
      for_each_element_of_chunk<lanes>(0, add_at_first);
    }
    for (std::size_t i = first; i < end; ++i) add(i - first, i);
    for (std::size_t k = 0; k < terms; ++k)
      for (std::size_t lane = 0; lane < lanes; ++lane) sums[k] += static_cast<double>(partial[k][lane]);
  }
  return predictor.policy.prepare(earlier, sums, kept);
}

}  // namespace syncopate::detail

#if defined(__clang__)
#pragma clang diagnostic pop
#endif
