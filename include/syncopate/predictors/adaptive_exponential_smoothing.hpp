#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "../concepts.hpp"
#include "gain_laws/tracking_signal.hpp"

namespace syncopate {

/// Exponential smoothing whose gain a follows the data:
///
///     a from the gain law,  s ← s + a (m − s),  ĝ = s;  the first mean: s = m
///
/// The pseudo-synchronous SGD of [Wen et al. 2024] predicts by an "adaptive exponential smoothing" that adjusts the
/// confidence in the history; its formula is not public. This is this project's reading of it: 1 − a is the confidence,
/// and the default law is the tracking signal of [Trigg & Leach 1967].
///
/// A gain law is a plain struct, as a policy is. It gives `double next(count, sums, scalars) const`, the gain of this
/// update, from sums over a tensor or a chunk of what `std::array<T, M> observe(T mean, T smoothed) const` returns for
/// one parameter; a law without `observe` gives `next(count)`. It may keep `scalars` numbers per group, and one vector
/// (`state_vectors = 1`): `observe` then takes its element as third argument, and `T follow(T error, T state) const`
/// returns the element's next value. It may `validate`.
template <class GainLaw = tracking_signal>
struct adaptive_exponential_smoothing {
  GainLaw law{};
  /// What shares a gain. Per tensor: a second read of memory. Per chunk: no extra traffic, and a noisier gain.
  granularity per = granularity::tensor;

  static_assert(detail::state_vectors<GainLaw> <= 1, "a gain law keeps at most one vector");

  static constexpr std::size_t state_vectors = 1 + detail::state_vectors<GainLaw>;
  static constexpr std::size_t scalars = detail::scalars<GainLaw>;

  template <class T>
  requires requires(const GainLaw& l, T x) { l.observe(x, x); }
  constexpr auto observe(const landed<T>& m, const T& smoothed) const { return law.observe(m.mean, smoothed); }

  template <class T>
  requires requires(const GainLaw& l, T x) { l.observe(x, x, x); }
  constexpr auto observe(const landed<T>& m, const T& smoothed, const T& kept) const {
    return law.observe(m.mean, smoothed, kept);
  }

  constexpr double prepare(std::int64_t count) const requires requires(const GainLaw& l) { l.next(count); }
  { return law.next(count); }

  template <std::size_t Terms>
  constexpr double prepare(std::int64_t count, const std::array<double, Terms>& sums,
                           std::array<double, scalars>& kept) const {
    return law.next(count, sums, kept);
  }

  template <class T>
  constexpr T predict(const landed<T>& m, T& smoothed, const double& gain) const {
    return smoothed += T(gain) * (m.mean - smoothed);
  }

  template <class T>
  constexpr T predict(const landed<T>& m, T& smoothed, T& kept, const double& gain) const {
    const T error = m.mean - smoothed;
    kept = law.follow(error, kept);
    return smoothed += T(gain) * error;
  }

  /// Throws `configuration_error` where the law's hyper-parameters make no sense.
  void validate() const {
    if constexpr (requires { law.validate(); }) law.validate();
  }
};

adaptive_exponential_smoothing()->adaptive_exponential_smoothing<>;
template <class GainLaw>
adaptive_exponential_smoothing(GainLaw) -> adaptive_exponential_smoothing<GainLaw>;
template <class GainLaw>
adaptive_exponential_smoothing(GainLaw, granularity) -> adaptive_exponential_smoothing<GainLaw>;

}  // namespace syncopate
