/// Policies as a user writes them after reading the documentation, untuned.
#include <cmath>
#include <string>
#include <syncopate/benchmark.hpp>
#include <syncopate/syncopate.hpp>
#include <vector>

#include "parts.hpp"
#include "registration.hpp"
#include "suite.hpp"

namespace {

/// Trusts a late gradient the less, the later it is.
struct staleness_scaling {
  template <class T>
  constexpr T predict(const syncopate::landed<T>& m) const {
    return m.mean / T(1 + m.staleness);
  }
};

/// Keeps what points the same way as the history, halves the rest: a branch, as a conditional expression.
struct sign_agreement {
  double gain = 0.1;
  static constexpr std::size_t state_vectors = 1;

  template <class T>
  constexpr T predict(const syncopate::landed<T>& m, T& history) const {
    history += T(gain) * (m.mean - history);
    const T half = T(0.5) * m.mean;
    return half + (m.mean * history > T(0) ? half : T(0));
  }
};

struct signed_momentum {
  double learning_rate = 1e-3, momentum = 0.9;
  static constexpr std::size_t state_vectors = 1;

  template <class T>
  constexpr void apply(T& weight, T gradient, T& velocity) const {
    velocity = gradient + T(momentum) * velocity;
    weight -= std::copysign(T(learning_rate), velocity);
  }
};

/// The same by hand, in the loop of the shipped predictors.
struct staleness_scaling_by_hand : parts::predictor {
  template <class T>
  struct by_hand {
    void look(const syncopate::update_by_hand<T>&, std::size_t, std::size_t) {}
    T operator()(const parts::known<T>& k, T&, T&) const { return k.mean / T(2); }
  };
};
struct sign_agreement_by_hand : parts::predictor {
  template <class T>
  struct by_hand {
    void look(const syncopate::update_by_hand<T>&, std::size_t, std::size_t) {}
    T operator()(const parts::known<T>& k, T& history, T&) const {
      history += T(0.1) * (k.mean - history);
      const T half = T(0.5) * k.mean;
      return half + (k.mean * history > T(0) ? half : T(0));
    }
  };
};
struct signed_momentum_by_hand {
  template <class T>
  struct by_hand {
    explicit by_hand(std::int64_t) {}
    void operator()(T& w, T& velocity, T&, T g) const {
      velocity = g + T(0.9) * velocity;
      w -= std::copysign(T(1e-3), velocity);
    }
  };
};

template <class Predictor, class Rule>
void add(const std::string& name, auto predictor, auto rule) {
  syncopate::benchmark_update(
      "custom/" + name,
      [=](auto& w) {
        return syncopate::pseudo_synchronous_sgd(w, syncopate::loopback{}, rule, predictor, 1,
                                                 registration::alone.options);
      },
      {.against = {{"hand_fused", registration::committed_by_hand<float, Predictor, Rule>{}}},
       .sizes = registration::sizes,
       .iterations = registration::iterations});
}

}  // namespace

void suite::custom_policies() {
  add<staleness_scaling_by_hand, parts::sgd>("staleness_scaling/sgd/float", staleness_scaling{}, parts::sgd::policy);
  add<sign_agreement_by_hand, parts::sgd>("sign_agreement/sgd/float", sign_agreement{}, parts::sgd::policy);
  add<parts::smoothing, signed_momentum_by_hand>("smoothing/signed_momentum/float", parts::smoothing::policy,
                                                 signed_momentum{});
}
