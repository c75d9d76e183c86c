#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "../elements/buffer.hpp"
#include "../elements/finite.hpp"
#include "../elements/message_layout.hpp"
#include "absorb.hpp"
#include "bucket.hpp"
#include "contribute.hpp"
#include "look_ahead.hpp"
#include "policy_state.hpp"

namespace syncopate::detail {

/// An averaging as it is, with hyper-parameters that may change at any time, and as it was when the means that are
/// absorbed now became due.
template <class A>
struct averaging_in_force {
  A now;
  A when_due;
};

/// The only code that knows the averaging: its formulas over a bucket's elements, in one pass for a step's contribution
/// and one for its mean.
template <class T, class A>
class sweep final : public bucket {
  using P = predictor_type<A>;
  static constexpr std::size_t terms = observed_terms<P, T>;
  static constexpr bool predicts_ahead = looks_ahead<A, T>;
  static constexpr bool keeps_true_weights = predicts_ahead || shards<A>;

 public:
  /// For messages laid out like that, of which there is memory for as many as there are slots. Keeps both references.
  sweep(const averaging_in_force<A>& averaging, const message_layout& layout, std::size_t slots)
      : averaging_(averaging),
        layout_(layout),
        state_(layout.size, groups_in(layout.kept)),
        weights_(keeps_true_weights ? layout.size : 0) {
    for (std::size_t slot = 0; slot < slots; ++slot) {
      own_.emplace_back(any_keeps_own<A> ? layout.elements() : 0);
      weights_then_.emplace_back(any_keeps_weights<A> ? layout.elements() : 0);
      own_begin_.push_back(own_.back().data());
      weights_then_begin_.push_back(weights_then_.back().data());
    }
    prepared_rules_.reserve(slots);
  }

  // Not inlined, as `absorb` and `show`: what a compiler has to say of formulas' loops it says of this header, not of a
  // user's function.
  SYNCOPATE_NEVER_INLINE contribution_facts contribute(std::span<const tensor_ref> tensors,
                                                       const contribution_plan& plan, std::int64_t number,
                                                       void* message) override {
    const bool moves = advances<A, T> && plan.makes_local_move && plan.samples > 0;
    if (advances<A, T> && !moves && !plan.sends) return {};
    const std::size_t slot = static_cast<std::size_t>(number) % own_.size();
    const contribute_loop<T, A> loop(averaging_.now, layout_.sent, tensors, plan,
                                     {static_cast<T*>(message), own_begin_[slot], weights_then_begin_[slot]});
    finiteness<T> seen;
    const bool observes = plan.sends && plan.observes;
    const double earlier = observes && plan.adds ? loop.squares_sent() : 0;
    if (plan.samples > 0) {
      if (plan.adds)
        loop.add();
      else
        loop.run(state_.place(averaging_.now), moves, seen);
    }
    if (moves) ++state_.moves;
    if (!plan.sends) return {};
    if (plan.checks && plan.adds) loop.look_at_all(seen);
    contribution_facts facts{seen.all_finite(), {}};
    if (!facts.finite || !(plan.samples > 0 || plan.adds))
      loop.contribute_nothing();
    else if (observes)
      facts.squares = loop.squares(earlier);
    return facts;
  }

  SYNCOPATE_NEVER_INLINE void absorb(std::span<const tensor_ref> tensors, const mean_plan& plan, void* sum,
                                     const in_flight_view& messages) override {
    T* const elements = static_cast<T*>(sum);
    const bool empty = plan.samples == 0;
    if (empty)
      std::fill_n(elements, layout_.size, T(0));
    else
      ++state_.updates;
    scale_ =
        empty ? T(1) : make_mean(elements, layout_.size, static_cast<T>(plan.samples), static_cast<T>(plan.shrink));
    const bool looks_ahead_now = !empty && !plan.more_follow;
    shown_ = looks_ahead_now ? messages.last : outdated;
    if (!empty) arrive<true>(tensors, messages, looks_ahead_now);
  }

  SYNCOPATE_NEVER_INLINE void show([[maybe_unused]] std::span<const tensor_ref> tensors,
                                   const in_flight_view& messages) override {
    if constexpr (predicts_ahead)
      if (shown_ != messages.last) arrive<false>(tensors, messages, true);
    shown_ = messages.last;
  }

  void start(std::span<const tensor_ref> tensors) override {
    take_weights(tensors);
    state_.start_from_weights([&](T* to) { copy_weights(tensors, to); });
  }
  void take_weights([[maybe_unused]] std::span<const tensor_ref> tensors) override {
    if constexpr (keeps_true_weights) copy_weights(tensors, weights_.data());
  }

  const void* weights() const override { return weights_.data(); }

  void serialise(state_visitor& visitor) override {
    visitor.number(shown_);
    visitor.template as<double>(scale_);
    for (const auto* vectors : {&own_, &weights_then_})
      for (const buffer<T>& vector : *vectors) visitor.vector(role::message, false, vector.elements());
    visitor.vector(role::weights, !layout_.shared, weights_.elements());
    state_.serialise(visitor, layout_.shared);
  }

 private:
  static constexpr std::int64_t outdated = -1;  ///< of `shown_`

  void copy_weights(std::span<const tensor_ref> tensors, T* to) const {
    for (const slice& s : layout_.kept)
      std::copy_n(tensors[s.tensor].template weights_as<T>() + s.from, s.size, to + (s.offset - layout_.first()));
  }

  /// Groups of observed sums, each of at most a chunk.
  static std::size_t groups_in(std::span<const slice> slices) {
    if (slices.empty()) return 0;
    return slices.back().first_group + (slices.back().size + chunk_length - 1) / chunk_length;
  }

  /// The mean that landed last, from the message's first element on. Which weights it is to be folded into is not said.
  arrival<T, A> newest(const in_flight_view& messages) const {
    // Before the first one there is a message that was never used, and is zero.
    const std::int64_t number = messages.first > 0 ? messages.first - 1 : messages.last;
    const std::size_t slot = messages.slot_of(number);
    arrival<T, A> mean{static_cast<const T*>(messages.newest) - layout_.first(), scale_, own_begin_[slot], nullptr,
                       weights_then_begin_[slot]};
    if (messages.first > 0) mean.staleness = static_cast<int>(messages.step - messages.step_of(number));
    return mean;
  }

  /// Absorbs the mean of the message that landed last, if `Arrived`; looks ahead over the messages in flight, if
  /// `looks_ahead_now`.
  template <bool Arrived>
  void arrive(std::span<const tensor_ref> tensors, const in_flight_view& messages, bool looks_ahead_now) {
    const bool fresh = Arrived && messages.step_of(messages.first - 1) == messages.step;
    if (!predicts_ahead && fresh)
      arrive<Arrived, !predicts_ahead>(tensors, messages, looks_ahead_now);
    else
      arrive<Arrived, false>(tensors, messages, looks_ahead_now);
  }

  template <bool Arrived, bool Fresh>
  void arrive(std::span<const tensor_ref> tensors, const in_flight_view& messages, bool looks_ahead_now) {
    const A& averaging = averaging_.when_due;
    const placed_policies<A, T> policies = state_.place(averaging);
    prepared_rules_.clear();
    if constexpr (predicts_ahead)
      for (std::int64_t number = 0; number < messages.count(); ++number)
        prepared_rules_.push_back(prepare(rule_of(averaging), state_.updates + number));
    const bool ahead = predicts_ahead && looks_ahead_now && messages.count() > 0;
    const arrival<T, A> landed_last = newest(messages);
    predictions<T, A> known{landed_last, messages, prepared_rules_, own_begin_, weights_then_begin_};
    for (const slice& s : layout_.kept) {
      const std::size_t group = observes_chunks(averaging) ? chunk_length : s.size;
      for (std::size_t begin = 0; begin < s.size; begin += group) {
        const std::size_t count = std::min(group, s.size - begin), offset = s.offset + begin;
        T* const user = tensors[s.tensor].template weights_as<T>() + s.from + begin;
        T* const weight = keeps_true_weights ? weights_.data() + (offset - layout_.first()) : user;
        arrival<T, A>& mean = known.newest = landed_last.advanced_by(offset);
        mean.weight = weight;
        placed_policies<A, T> here = policies.advanced_by(offset - layout_.first());
        if constexpr (terms > 0) {
          auto& kept = state_.observed[s.first_group + begin / chunk_length];
          auto scratch = kept;
          here.predictor.prepared =
              observe<T, A>(here.predictor, ahead ? known.of(messages.first, offset) : mean, count,
                            Arrived ? state_.updates - 1 : state_.updates, Arrived ? kept : scratch);
        }
        if constexpr (predicts_ahead) {
          if (ahead && Arrived && messages.count() == 1) {
            look_ahead<true>(averaging, here, known, messages.first, offset, weight, user, count);
          } else if (ahead) {
            look_far_ahead<Arrived>(averaging, here, known, offset, weight, user, count);
          } else {
            if constexpr (Arrived) absorb_mean<Fresh>(averaging, here, mean, weight, count);
            if (looks_ahead_now) std::copy_n(weight, count, user);
          }
        } else if constexpr (Arrived) {
          absorb_mean<Fresh>(averaging, here, mean, weight, count);
        }
      }
    }
    if (ahead) ++state_.predictions;
  }

  /// Whether the predictor's sums run over a chunk, and not over a tensor.
  static bool observes_chunks([[maybe_unused]] const A& averaging) {
    if constexpr (requires { averaging.predictor.per; })
      return averaging.predictor.per == granularity::chunk;
    else
      return false;
  }

  const averaging_in_force<A>& averaging_;
  const message_layout& layout_;
  policy_state<T, A> state_;
  buffer<T> weights_;                          ///< the true ones, where the user's tensors do not hold them
  std::vector<buffer<T>> own_, weights_then_;  ///< by slot, where policies keep them
  std::vector<T*> own_begin_, weights_then_begin_;
  std::vector<coefficients_of<rule_type<A>, T>> prepared_rules_;  ///< for each message in flight
  std::int64_t shown_ = 0;  ///< messages up to this one were in flight when the user's weights were written
  T scale_ = T(1);          ///< of the sum that was absorbed last: scale · sum is the mean
};

}  // namespace syncopate::detail
