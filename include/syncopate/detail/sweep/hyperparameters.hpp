#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "../elements/mix.hpp"
#include "roles.hpp"

namespace syncopate::detail {

/// What tells two averagings of one type apart by the values of their hyper-parameters: a hash of what their formulas
/// make of a few numbers. Policies need not be comparable, and have no list of their members.
template <class A, class T>
class hyperparameter_hash {
 public:
  /// Costs a comparison of bytes while nothing has changed, if the averaging can be copied as bytes.
  std::uint64_t of(const A& averaging) {
#if defined(__has_builtin) && __has_builtin(__builtin_clear_padding)
    if constexpr (std::is_trivially_copyable_v<A>) {  // as long as nothing changes, a comparison of bytes will do
      alignas(A) std::array<unsigned char, sizeof(A)> bytes;
      std::memcpy(bytes.data(), &averaging, sizeof(A));
      __builtin_clear_padding(reinterpret_cast<A*>(bytes.data()));
      if (known_ && std::memcmp(seen_.data(), bytes.data(), sizeof(A)) == 0) return hash_;
      seen_ = bytes;
    }
#endif
    if (!known_) counts_calls_ = look(averaging) != look(averaging);
    known_ = true;
    return hash_ = counts_calls_ ? 0 : look(averaging);
  }

 private:
  static constexpr std::size_t probes = 4;  ///< elements that formulas are tried on

  /// A policy, with state to try its formula on.
  template <class Policy>
  struct probe {
    Policy policy;
    std::array<std::array<T, probes>, state_vectors<Policy>> state;
    coefficients_of<Policy, T> prepared;

    explicit probe(const Policy& of) : policy(of), prepared(prepare_for_probe(of)) {
      for (std::size_t v = 0; v < state.size(); ++v)
        for (std::size_t i = 0; i < probes; ++i) state[v][i] = T(0.0625) * static_cast<T>(1 + v) + numbers()[i];
    }
    placed<Policy, T> place() {
      placed<Policy, T> at{policy, prepared, {}};
      for (std::size_t v = 0; v < state.size(); ++v) at.state[v] = state[v].data();
      return at;
    }
  };

  static constexpr std::array<T, probes> numbers() { return {T(0.75), T(0.03125), T(1e-6), T(12.5)}; }

  // Not inlined, since g++ would warn of the bytes that a variant does not use.
  template <class Policy>
  SYNCOPATE_NEVER_INLINE static auto prepare_for_probe(const Policy& policy) {
    if constexpr (observed_terms < Policy, T >> 0) {
      std::array<double, observed_terms<Policy, T>> sums{};
      for (std::size_t k = 0; k < sums.size(); ++k) sums[k] = 0.5 + 0.375 * static_cast<double>(k);
      std::array<double, scalars<Policy>> kept{};
      return prepare(policy, 1, sums, kept);
    } else {
      return prepare(policy, 1);
    }
  }

  /// Runs all formulas over a few elements, whose state vectors hold made-up numbers, and hashes what comes out.
  static std::uint64_t look(const A& averaging) {
    probe<predictor_type<A>> predictor(predictor_of(averaging));
    probe<rule_type<A>> rule(rule_of(averaging));
    probe<local_rule_type<A>> local_rule(local_rule_of(averaging));
    probe<merge_type<A>> merge(merge_of(averaging));
    const placed_policies<A, T> all{predictor.place(), rule.place(), local_rule.place(), merge.place()};
    std::uint64_t hash = 0;
    const auto add = [&](T number) { hash = mix(hash, static_cast<double>(number)); };
    with_bound<false>(all, [&](auto with_at) {
      for (std::size_t i = 0; i < probes; ++i) {
        T weight = T(1.5) - numbers()[i];
        const T gradient = numbers()[i];
        const auto with = with_at(i);
        if constexpr (advances<A, T>) averaging.advance(weight, gradient, with);
        add(averaging.message(weight, gradient));
        const landed<T> mean{T(0.5) * gradient, gradient, weight, weight - T(0.25), 1};
        averaging.absorb(weight, mean, with);
        if constexpr (looks_ahead<A, T>) averaging.look_ahead(weight, mean, with);
        add(weight);
      }
    });
    const auto add_state = [&](const auto& of) {
      for (const auto& vector : of.state)
        for (const T number : vector) add(number);
    };
    add_state(predictor);
    add_state(rule);
    add_state(local_rule);
    add_state(merge);
    return hash;
  }

  std::array<unsigned char, sizeof(A)> seen_{};
  bool known_ = false;
  bool counts_calls_ = false;  ///< formulas that count their calls, say, tell nothing of values
  std::uint64_t hash_ = 0;
};

}  // namespace syncopate::detail
