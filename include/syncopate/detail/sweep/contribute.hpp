#pragma once

#include <cstddef>
#include <span>

#include "../elements/contribution.hpp"
#include "../elements/finite.hpp"
#include "../elements/loop.hpp"
#include "../elements/slice.hpp"
#include "roles.hpp"

#if defined(__clang__)
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wpass-failed"  // a formula that cannot be vectorised is no fault
#endif

namespace syncopate::detail {

/// Loop 1: an averaging's `advance` and `message` over the gradients of one step.
template <class T, class A>
class contribute_loop {
 public:
  /// Where a contribution goes, from the message's first element on. Pointers to what is not kept are null.
  struct destination {
    T* sum = nullptr;
    T* own = nullptr;
    T* weights_then = nullptr;
  };

  contribute_loop(const A& averaging, std::span<const slice> slices, std::span<const tensor_ref> tensors,
                  const contribution_plan& plan, const destination& out)
      : averaging_(averaging), slices_(slices), tensors_(tensors), plan_(plan), out_(out) {}

  /// Over a gradient that is there: with the local move, if `moves`.
  void run(const placed_policies<A, T>& policies, bool moves, finiteness<T>& seen) const {
    for (const slice& s : slices_) {
      const placed_policies<A, T> here = policies.advanced_by(advances<A, T> ? s.offset : 0);
      T* const weight = weights_of(s);
      const T* const gradient = gradient_of(s);
      if constexpr (!advances<A, T>) {
        run<false, true>(here, s, weight, gradient, seen);
      } else {
        if (moves && plan_.sends)
          run<true, true>(here, s, weight, gradient, seen);
        else if (moves)
          run<true, false>(here, s, weight, gradient, seen);
        else
          run<false, true>(here, s, weight, gradient, seen);
      }
    }
  }

  /// Adds a contribution to those of earlier steps.
  void add() const {
    const A formulas = averaging_;
    const auto samples = static_cast<T>(plan_.samples);
    for (const slice& s : slices_) {
      const T* const weight = weights_of(s);
      const T* const gradient = gradient_of(s);
      T* const sum = out_.sum + s.offset;
      [[maybe_unused]] T* const own = any_keeps_own<A> ? out_.own + s.offset : nullptr;
      [[maybe_unused]] T* const then = any_keeps_weights<A> ? out_.weights_then + s.offset : nullptr;
      for_each_element(s.size, [=](std::size_t i) SYNCOPATE_INLINE_LAMBDA {
        const T contribution = formulas.message(weight[i], gradient[i]);
        if constexpr (any_keeps_own<A>) own[i] += contribution;
        if constexpr (any_keeps_weights<A>) then[i] = weight[i];
        sum[i] += contribution * samples;
      });
    }
  }

  /// Looks for infinities and NaN in what several steps have brought together.
  void look_at_all(finiteness<T>& seen) const {
    for (const slice& s : slices_) seen.look_at(out_.sum + s.offset, s.size);
  }

  /// Writes the message of a rank that has nothing to say.
  void contribute_nothing() const {
    for (const slice& s : slices_) {
      const T* const weight = weights_of(s);
      for (std::size_t i = 0; i < s.size; ++i) out_.sum[s.offset + i] = T(0);
      if constexpr (any_keeps_own<A>)
        for (std::size_t i = 0; i < s.size; ++i) out_.own[s.offset + i] = averaging_.message(weight[i], T(0));
      if constexpr (any_keeps_weights<A>)
        for (std::size_t i = 0; i < s.size; ++i) out_.weights_then[s.offset + i] = weight[i];
    }
  }

  /// Norms of a contribution that is about to leave; `earlier` is what was there before the last step, times samples.
  observed_squares squares(double earlier) const {
    const double each = plan_.samples_of_message, all = squares_sent() / (each * each);
    observed_squares seen{all, 0, earlier / (each * each)};
    if (plan_.samples == 0) return seen;  // the gradient is not to be looked at
    double latest = 0;
    if (plan_.adds)
      for (const slice& s : slices_) latest += sum_of_squares(std::span<const T>(gradient_of(s), s.size));
    const double share = plan_.samples / each;
    seen.latest = plan_.adds ? latest * share * share : all;
    return seen;
  }

  /// The sum of squares of a contribution, times the number of samples squared.
  double squares_sent() const {
    double sum = 0;
    for (const slice& s : slices_) sum += sum_of_squares(std::span<const T>(out_.sum + s.offset, s.size));
    return sum;
  }

 private:
  T* weights_of(const slice& s) const { return tensors_[s.tensor].template weights_as<T>() + s.from; }
  const T* gradient_of(const slice& s) const { return tensors_[s.tensor].template gradient_as<T>() + s.from; }

  template <bool Moves, bool Sends>
  void run(const placed_policies<A, T>& policies, const slice& s, T* weights, const T* gradients,
           finiteness<T>& seen) const {
    const A formulas = averaging_;
    const auto samples = static_cast<T>(plan_.samples);
    [[maybe_unused]] T* const sum = out_.sum + s.offset;
    [[maybe_unused]] T* const own = any_keeps_own<A> ? out_.own + s.offset : nullptr;
    [[maybe_unused]] T* const then = any_keeps_weights<A> ? out_.weights_then + s.offset : nullptr;
    const auto send = [=](std::size_t i) SYNCOPATE_INLINE_LAMBDA {
      const T contribution = formulas.message(weights[i], gradients[i]);
      if constexpr (any_keeps_own<A>) own[i] = contribution;
      sum[i] = contribution * samples;
    };
    const auto over_all = [&](auto body) {
      if (Sends && plan_.checks)
        for_each_element(s.size, body, [&](std::size_t begin, std::size_t count) SYNCOPATE_INLINE_LAMBDA {
          seen.look_at(sum + begin, count);
        });
      else
        for_each_element(s.size, body);
    };
    if constexpr (Moves)
      with_bound<false>(policies, [=](auto with_at) {
        over_all([=](std::size_t i) SYNCOPATE_INLINE_LAMBDA {
          if constexpr (Sends && any_keeps_weights<A>) then[i] = weights[i];
          formulas.advance(weights[i], gradients[i], with_at(i));
          if constexpr (Sends) send(i);
        });
      });
    else
      over_all([=](std::size_t i) SYNCOPATE_INLINE_LAMBDA {
        if constexpr (any_keeps_weights<A>) then[i] = weights[i];
        send(i);
      });
  }

  const A& averaging_;
  std::span<const slice> slices_;
  std::span<const tensor_ref> tensors_;
  const contribution_plan& plan_;
  destination out_;
};

}  // namespace syncopate::detail

#if defined(__clang__)
#pragma clang diagnostic pop
#endif
