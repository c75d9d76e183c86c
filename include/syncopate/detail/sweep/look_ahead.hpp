#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>

#include "../elements/loop.hpp"
#include "absorb.hpp"
#include "arrival.hpp"
#include "bucket.hpp"
#include "roles.hpp"

#if defined(__clang__)
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wpass-failed"  // a formula that cannot be vectorised is no fault
#endif

namespace syncopate::detail {

/// What is known of the gradients that messages in flight carry.
template <class T, class A>
struct predictions {
  /// The mean that landed last, from some element on.
  arrival<T, A> newest;
  const in_flight_view& messages;
  /// What was prepared for the update by each message in flight, oldest first.
  const std::vector<coefficients_of<rule_type<A>, T>>& rules;
  /// By slot: what this rank contributed, and the weights then, from the bucket's first element on.
  const std::vector<T*>&own, &weights_then;

  /// What is known of message `number`'s, from the same element on, which is the bucket's at `offset`.
  arrival<T, A> of(std::int64_t number, std::size_t offset) const {
    arrival<T, A> known = newest;
    if constexpr (any_keeps_own<A>) known.own = own[messages.slot_of(number)] + offset;
    if constexpr (any_keeps_weights<A>) {
      known.weight = weights_then[messages.slot_of(number)] + offset;
      if (messages.first == 0) known.weight_then = known.weight;
    }
    known.staleness =
        messages.first > 0 ? static_cast<int>(messages.step_of(number) - messages.step_of(messages.first - 1)) : 0;
    return known;
  }
};

/// Leaves in `user` a copy of the weights that message `number`'s predicted gradient has advanced. If `Absorbs`, the
/// newest mean is folded into the weights first, and the rule's state is left as that made it; else the state moves on.
template <bool Absorbs, class T, class A>
void look_ahead(const A& averaging, const placed_policies<A, T>& policies, const predictions<T, A>& known,
                std::int64_t number, std::size_t offset, T* weight, T* user, std::size_t count) {
  using U = rule_type<A>;
  const A formulas = averaging;
  const arrival<T, A> mean = known.newest, wanted = known.of(number, offset);
  const coefficients_of<U, T>& prepared = known.rules[static_cast<std::size_t>(number - known.messages.first)];
  with_bound<false>(policies, [=](auto with_at) {
    using with_type = decltype(with_at(std::size_t{}));
    using rule_cell = decltype(with_type::rules);
    const auto next = alternative_of<std::remove_cvref_t<decltype(rule_cell::prepared)>>(prepared);
    for_each_element(count, [=](std::size_t i) SYNCOPATE_INLINE_LAMBDA {
      const with_type with = with_at(i);
      if constexpr (Absorbs) formulas.absorb(weight[i], mean.at(i), with);
      [&]<std::size_t... V>(std::index_sequence<V...>) SYNCOPATE_INLINE_LAMBDA {
        T ahead = weight[i];
        std::array<T, state_vectors<U>> state{*with.rules.state[V]...};
        const with_type with_copy{with.predictor, rule_cell{with.rules.policy, next, {&state[V]...}}, with.local_rules,
                                  with.merges};
        formulas.look_ahead(ahead, wanted.at(i), with_copy);
        user[i] = ahead;
        if constexpr (!Absorbs) ((*with.rules.state[V] = state[V]), ...);
      }
      (std::make_index_sequence<state_vectors<U>>{});
    });
  });
}

/// Looks ahead over all messages in flight, oldest first, chunk by chunk, from the weights that the newest mean has
/// advanced, if `Absorbs`, on the way. Each prediction starts from the history as it was before that mean.
template <bool Absorbs, class T, class A>
void look_far_ahead(const A& averaging, const placed_policies<A, T>& all_policies, const predictions<T, A>& all,
                    std::size_t offset, T* weight, T* user, std::size_t length) {
  using P = predictor_type<A>;
  using U = rule_type<A>;
  alignas(64) std::array<std::array<T, chunk_length>, state_vectors<P>> history, history_scratch;
  alignas(64) std::array<std::array<T, chunk_length>, state_vectors<U>> rule_scratch;
  for (std::size_t begin = 0; begin < length; begin += chunk_length) {
    const std::size_t count = std::min(chunk_length, length - begin);
    predictions<T, A> known = all;
    known.newest = all.newest.advanced_by(begin);
    placed_policies<A, T> policies = all_policies.advanced_by(begin);
    for (std::size_t v = 0; v < state_vectors<P>; ++v)
      std::copy_n(policies.predictor.state[v], count, history[v].data());
    if constexpr (Absorbs) absorb_mean<false>(averaging, policies, known.newest, weight + begin, count);
    std::copy_n(weight + begin, count, user + begin);
    for (std::size_t v = 0; v < state_vectors<U>; ++v) {
      std::copy_n(policies.rule.state[v], count, rule_scratch[v].data());
      policies.rule.state[v] = rule_scratch[v].data();
    }
    for (std::int64_t number = known.messages.first; number < known.messages.last; ++number) {
      for (std::size_t v = 0; v < state_vectors<P>; ++v) {
        std::copy_n(history[v].data(), count, history_scratch[v].data());
        policies.predictor.state[v] = history_scratch[v].data();
      }
      look_ahead<false>(averaging, policies, known, number, offset + begin, user + begin, user + begin, count);
    }
  }
}

}  // namespace syncopate::detail

#if defined(__clang__)
#pragma clang diagnostic pop
#endif
