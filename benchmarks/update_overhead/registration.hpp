#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include "parts.hpp"
#include "statements.hpp"

/// Registers averaging × predictor or merge × rule × element type, each next to the same written by hand.
///
/// Updates by hand do what hiding communication demands: they write a message of the gradient, and absorb the message
/// of the step before, in as few loops as possible. In `state`, 0 and 1 are the predictor's, 2 and 3 the rule's, 4 are
/// the true weights where an averaging looks ahead, and 5 is the local rule's.
namespace registration {

using syncopate::update_by_hand;
using syncopate::update_scheme;

inline const std::vector<std::int64_t> sizes{1 << 10, 1 << 14, 1 << 20, 1 << 24, 1 << 26};
#ifdef ONE_RULE_AND_ELEMENT
constexpr std::int64_t iterations = 9;  // whether it works, not how fast
#else
constexpr std::int64_t iterations = 0;  // as the size says
#endif

/// What of a scheme is measured besides its recurrence: nothing, as in the loops by hand, or also whether gradients are
/// finite, which a scheme looks at by default.
struct measured {
  std::string prefix;
  syncopate::scheme_options options;
};
inline const measured alone{"", {.non_finite_gradients = syncopate::non_finite::ignore}};
inline const measured checked{"checked/", {}};

/// Registers a scheme of `averaging` next to the same by hand and in statements of the tensor libraries.
template <class T, class Averaging, class ByHand, class Xtensor, class Eigen, class Delay = syncopate::fixed_delay>
void add(const measured& what, const std::string& name, Averaging averaging, ByHand by_hand, Xtensor xtensor,
         Eigen eigen, Delay delay = {1}, std::int64_t period = 1) {
  syncopate::benchmark_update<std::vector<T>>(
      what.prefix + name + (std::is_same_v<T, float> ? "/float" : "/double"),
      [=, options = what.options](std::vector<T>& w) {
        return update_scheme{w, syncopate::loopback{}, delay, averaging, options};
      },
      {.against = {{"hand_fused", by_hand}, {"xtensor", xtensor}, {"eigen", eigen}},
       .sizes = sizes,
       .period = period,
       .iterations = iterations});
}

template <class Policy, class Rule>
std::string path(const char* averaging) {
  return std::string(averaging) + "/" + Policy::name + "/" + Rule::name;
}

/// Copies the gradient to the message, and keeps what the predictor wants kept with it.
template <parts::keeps Keeps, class T>
void send(update_by_hand<T>& x) {
  T* __restrict const message = x.message;
  T* __restrict const kept = x.kept;
  const T* __restrict const gradient = x.gradient;
  const T* __restrict const weights = x.weights;
  INDEPENDENT
  for (std::size_t i = 0; i < x.size; ++i) {
    message[i] = gradient[i];
    if constexpr (Keeps == parts::keeps::own) kept[i] = gradient[i];
    if constexpr (Keeps == parts::keeps::weights) kept[i] = weights[i];
  }
}

/// What a loop takes of a predictor: a copy, without what is only looked at between loops.
template <class ByHand>
auto formula_of(const ByHand& predictor) {
  if constexpr (requires { typename ByHand::formula; })
    return typename ByHand::formula(predictor);
  else
    return predictor;
}

/// Calls `loop(begin, end)`, for the stretches that the predictor wants to look at first.
template <class Predictor, class ByHand, class T, class Loop>
[[gnu::always_inline]] inline void by_stretch(update_by_hand<T>& x, ByHand& predictor, Loop loop) {
  if constexpr (Predictor::stretch == 0 || Predictor::stretch == parts::everything) {
    predictor.look(x, 0, x.size);
    loop(0, x.size);
  } else {
    for (std::size_t begin = 0; begin < x.size; begin += Predictor::stretch) {
      predictor.look(x, begin, begin + Predictor::stretch);
      loop(begin, begin + Predictor::stretch);
    }
  }
}

template <class T, class Predictor, class Rule>
struct committed_by_hand {
  typename Predictor::template by_hand<T> predict{};

  void operator()(update_by_hand<T>& x) {
    send<Predictor::keeps>(x);
    if (x.step == 0) return;
    const typename Rule::template by_hand<T> apply(x.step - 1);
    by_stretch<Predictor>(x, predict, [&](std::size_t begin, std::size_t end) {
      const auto predict_here = formula_of(predict);
      T* __restrict const w = x.weights;
      const T* __restrict const m = x.landed;
      const T* __restrict const then = x.kept_with_landed;
      T* __restrict const a = x.state[0];
      T* __restrict const b = x.state[1];
      T* __restrict const first = x.state[2];
      T* __restrict const second = x.state[3];
      INDEPENDENT
      for (std::size_t i = begin; i < end; ++i)
        apply(w[i], first[i], second[i], predict_here({m[i], T(0), w[i], then[i]}, a[i], b[i]));
    });
  }
};

template <class S, class T, class Predictor, class Rule>
struct committed_in_statements {
  typename Predictor::template statements<S, T> predict{};

  void operator()(update_by_hand<T>& by_hand) {
    statements::views<S, T> x(by_hand);
    S::set(x.message, x.gradient);
    if constexpr (Predictor::keeps == parts::keeps::weights) S::set(x.kept, x.weights);
    if (x.step == 0) return;
    Rule::template statements<S, T>(x.weights, x.state[2], x.state[3], predict(x), x.step - 1);
  }
};

template <class Predictor, class Rule, class T>
void gradient_averaging(const measured& what = alone) {
  add<T>(what, path<Predictor, Rule>("gradient_averaging"),
         syncopate::gradient_averaging{Predictor::policy, Rule::policy}, committed_by_hand<T, Predictor, Rule>{},
         committed_in_statements<statements::xtensor, T, Predictor, Rule>{},
         committed_in_statements<statements::eigen, T, Predictor, Rule>{});
}

/// True weights W are advanced by the mean, the user's from there by what the predictor says of the message that has
/// just left: with the rule (a copy of its state), or with a local rule and its own state.
template <class T, class Predictor, class Rule, bool LocalRule>
struct looking_ahead_by_hand {
  typename Predictor::template by_hand<T> predict{};

  void operator()(update_by_hand<T>& x) {
    send<Predictor::keeps>(x);
    if (x.step == 0) {
      std::copy_n(x.weights, x.size, x.state[4]);
      loop<false>(x);
    } else {
      loop<true>(x);
    }
  }

 private:
  template <bool Absorbs>
  [[gnu::always_inline]] inline void loop(update_by_hand<T>& x) {
    const typename Rule::template by_hand<T> apply(x.step - 1), apply_ahead(x.step);
    const typename parts::sgd::by_hand<T> apply_locally(x.step);
    by_stretch<Predictor>(x, predict, [&](std::size_t begin, std::size_t end) {
      const auto predict_here = formula_of(predict);
      T* __restrict const user = x.weights;
      T* __restrict const w = x.state[4];
      const T* __restrict const m = x.landed;
      const T* __restrict const kept = x.kept;
      const T* __restrict const then = x.kept_with_landed;
      T* __restrict const a = x.state[0];
      T* __restrict const b = x.state[1];
      T* __restrict const first = x.state[2];
      T* __restrict const second = x.state[3];
      T* __restrict const local = x.state[5];
      INDEPENDENT
      for (std::size_t i = begin; i < end; ++i) {
        if constexpr (Absorbs) apply(w[i], first[i], second[i], m[i]);
        T guess;
        if constexpr (Absorbs) {
          guess = predict_here({m[i], kept[i], kept[i], then[i]}, a[i], b[i]);
        } else {
          T a_copy = a[i], b_copy = b[i];
          guess = predict_here({m[i], kept[i], kept[i], kept[i]}, a_copy, b_copy);
        }
        T ahead = w[i], first_copy = first[i], second_copy = second[i];
        if constexpr (LocalRule)
          apply_locally(ahead, local[i], second_copy, guess);
        else
          apply_ahead(ahead, first_copy, second_copy, guess);
        user[i] = ahead;
      }
    });
  }
};

template <class S, class T, class Predictor, class Rule, bool LocalRule>
struct looking_ahead_in_statements {
  typename Predictor::template statements<S, T> predict{};

  void operator()(update_by_hand<T>& by_hand) {
    statements::views<S, T> x(by_hand);
    S::set(x.message, x.gradient);
    if constexpr (Predictor::keeps == parts::keeps::own) S::set(x.kept, x.gradient);
    if constexpr (Predictor::keeps == parts::keeps::weights) S::set(x.kept, x.weights);
    auto& w = x.state[4];
    if (x.step == 0) S::set(w, x.weights);
    if (x.step > 0) Rule::template statements<S, T>(w, x.state[2], x.state[3], x.landed, x.step - 1);
    if constexpr (LocalRule) {
      const auto& guess = predict(x);
      S::set(x.state[5], guess + T(parts::momentum) * x.state[5]);
      S::set(x.weights, w - T(parts::rate) * x.state[5]);
    } else {
      Rule::template ahead<S, T>(x.weights, w, x.state[2], x.state[3], predict(x), x.step);
    }
  }
};

template <class Predictor, class Rule, class T>
void lookahead_averaging(const measured& what = alone) {
  add<T>(what, path<Predictor, Rule>("lookahead_averaging"),
         syncopate::lookahead_averaging{Predictor::policy, Rule::policy},
         looking_ahead_by_hand<T, Predictor, Rule, false>{},
         looking_ahead_in_statements<statements::xtensor, T, Predictor, Rule, false>{},
         looking_ahead_in_statements<statements::eigen, T, Predictor, Rule, false>{});
}

/// The local rule is sgd, as OD-SGD's authors have it.
template <class Predictor, class Rule, class T>
void local_rule_averaging() {
  add<T>(alone, path<Predictor, Rule>("local_rule_averaging"),
         syncopate::local_rule_averaging{Predictor::policy, Rule::policy, parts::sgd::policy},
         looking_ahead_by_hand<T, Predictor, Rule, true>{},
         looking_ahead_in_statements<statements::xtensor, T, Predictor, Rule, true>{},
         looking_ahead_in_statements<statements::eigen, T, Predictor, Rule, true>{});
}

/// Every rank on its own; at the last step of a period a message leaves, and is merged at the step after.
constexpr std::int64_t period = 4;

template <class T, class Merge, class Rule>
struct averaging_weights_by_hand {
  const T* message = nullptr;
  const T* own = nullptr;

  void operator()(update_by_hand<T>& x) {
    if (x.step % period == period - 1) {
      move<true>(x);
      message = x.message;
      own = x.kept;
    } else {
      move<false>(x);
    }
    if (x.step % period == 0 && x.step > 0) absorb(x);
  }

 private:
  template <bool Launches>
  static void move(update_by_hand<T>& x) {
    const typename Rule::template by_hand<T> apply(x.step);
    T* __restrict const w = x.weights;
    const T* __restrict const g = x.gradient;
    T* __restrict const out = x.message;
    T* __restrict const kept = x.kept;
    T* __restrict const first = x.state[2];
    T* __restrict const second = x.state[3];
    INDEPENDENT
    for (std::size_t i = 0; i < x.size; ++i) {
      apply(w[i], first[i], second[i], g[i]);
      if constexpr (Launches) out[i] = w[i];
      if constexpr (Launches && Merge::keeps_own) kept[i] = w[i];
    }
  }

  void absorb(update_by_hand<T>& x) const {
    T* __restrict const w = x.weights;
    const T* __restrict const m = message;
    const T* __restrict const mine = own;
    INDEPENDENT
    for (std::size_t i = 0; i < x.size; ++i) w[i] = Merge::by_hand(w[i], m[i], Merge::keeps_own ? mine[i] : T(0));
  }
};

template <class S, class T, class Merge, class Rule>
struct averaging_weights_in_statements {
  void operator()(update_by_hand<T>& by_hand) {
    statements::views<S, T> x(by_hand);
    Rule::template statements<S, T>(x.weights, x.state[2], x.state[3], x.gradient, x.step);
    if (x.step % period == period - 1) {
      S::set(x.message, x.weights);
      if constexpr (Merge::keeps_own) S::set(x.kept, x.weights);
    }
    if (x.step % period == 0 && x.step > 0) Merge::template statements<S, T>(x);
  }
};

template <class Merge, class Rule, class T>
void weight_averaging(const measured& what = alone) {
  add<T>(what, path<Merge, Rule>("weight_averaging"), syncopate::weight_averaging{Merge::policy, Rule::policy},
         averaging_weights_by_hand<T, Merge, Rule>{},
         averaging_weights_in_statements<statements::xtensor, T, Merge, Rule>{},
         averaging_weights_in_statements<statements::eigen, T, Merge, Rule>{},
         syncopate::periodic_delay{.period = period, .delay = 1}, period);
}

/// Calls `add.template operator()<Policy, Rule, T>()` for every rule and element type.
template <class Policy>
void each_rule_and_element(auto add) {
  add.template operator()<Policy, parts::sgd, float>();
#ifndef ONE_RULE_AND_ELEMENT
  add.template operator()<Policy, parts::adamw, float>();
  add.template operator()<Policy, parts::sgd, double>();
  add.template operator()<Policy, parts::adamw, double>();
#endif
}
template <class... Policies>
void each(auto add) {
  (each_rule_and_element<Policies>(add), ...);
}

}  // namespace registration
