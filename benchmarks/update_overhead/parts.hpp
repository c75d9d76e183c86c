#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <syncopate/benchmark.hpp>
#include <syncopate/syncopate.hpp>
#include <vector>

/// Every rule, predictor and merge three times: the library's, the formula as it stands in a loop by hand (`by_hand`),
/// and the same in statements on whole vectors (`statements`), as one writes them with xtensor or Eigen.
namespace parts {

using syncopate::update_by_hand;

#if defined(__clang__)
#define INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define INDEPENDENT _Pragma("GCC ivdep")
#endif

constexpr double rate = 1e-3, momentum = 0.9, gain = 0.5, horizon = 0.5, strength = 0.04, own_share = 0.2;
constexpr double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8, decay = 1e-2;

/// Rules. `by_hand` is made for the update after `earlier` ones; `first` and `second` are state. `statements` advances
/// weights; `ahead` writes to `user` what would become of them, and changes nothing else.

struct sgd {
  static constexpr const char* name = "sgd";
  static constexpr syncopate::sgd policy{.learning_rate = rate, .momentum = momentum};

  template <class T>
  struct by_hand {
    explicit by_hand(std::int64_t) {}
    void operator()(T& w, T& first, T&, T g) const {
      first = g + T(momentum) * first;
      w -= T(rate) * first;
    }
  };
  template <class S, class T, class V>
  static void statements(V& w, V& first, V&, const auto& g, std::int64_t) {
    S::set(first, g + T(momentum) * first);
    S::set(w, w - T(rate) * first);
  }
  template <class S, class T, class V>
  static void ahead(V& user, const V& w, const V& first, const V&, const auto& g, std::int64_t) {
    S::set(user, w - T(rate) * (g + T(momentum) * first));
  }
};

struct adamw {
  static constexpr const char* name = "adamw";
  static constexpr syncopate::adamw policy{
      .learning_rate = rate, .beta1 = beta1, .beta2 = beta2, .epsilon = epsilon, .weight_decay = decay};

  template <class T>
  struct by_hand {
    T step, root;
    explicit by_hand(std::int64_t earlier)
        : step(T(rate / (1 - std::pow(beta1, earlier + 1)))),
          root(T(1 / std::sqrt(1 - std::pow(beta2, earlier + 1)))) {}
    void operator()(T& w, T& first, T& second, T g) const {
      w -= T(rate * decay) * w;
      first += T(1 - beta1) * (g - first);
      second += T(1 - beta2) * (g * g - second);
      w -= step * first / (syncopate::detail::square_root(second) * root + T(epsilon));
    }
  };
  template <class S, class T, class V>
  static void statements(V& w, V& first, V& second, const auto& g, std::int64_t earlier) {
    const by_hand<T> factors(earlier);
    S::set(w, w - T(rate * decay) * w);
    S::set(first, first + T(1 - beta1) * (g - first));
    S::set(second, second + T(1 - beta2) * (g * g - second));
    S::set(w, w - factors.step * first / (S::root(second) * factors.root + T(epsilon)));
  }
  template <class S, class T, class V>
  static void ahead(V& user, const V& w, const V& first, const V& second, const auto& g, std::int64_t earlier) {
    const by_hand<T> factors(earlier);
    S::set(user, w - T(rate * decay) * w -
                     factors.step * (first + T(1 - beta1) * (g - first)) /
                         (S::root(second + T(1 - beta2) * (g * g - second)) * factors.root + T(epsilon)));
  }
};

/// What is known of one parameter; `own` is what this rank contributed to the message that is predicted.
template <class T>
struct known {
  T mean, own, weight, weight_then;
};

/// Predictors. `by_hand` lives as long as the benchmark; before a stretch of the loop it may look at all means in it.
/// `statements` returns the vector that holds the prediction. What is kept with each message is named by `keeps`.

enum class keeps { nothing, own, weights };

/// Defaults of a predictor.
struct predictor {
  static constexpr parts::keeps keeps = parts::keeps::nothing;
  /// Elements of which the predictor wants to see all means first; 0: none.
  static constexpr std::size_t stretch = 0;
};

struct no_prediction : predictor {
  static constexpr const char* name = "no_prediction";
  static constexpr syncopate::no_prediction policy{};

  template <class T>
  struct by_hand {
    void look(const update_by_hand<T>&, std::size_t, std::size_t) {}
    T operator()(const known<T>& k, T&, T&) const { return k.mean; }
  };
  template <class S, class T>
  struct statements {
    auto& operator()(auto& x) { return x.landed; }
  };
};

struct smoothing : predictor {
  static constexpr const char* name = "smoothing";
  static constexpr syncopate::exponential_smoothing policy{gain};

  template <class T>
  struct by_hand {
    T a = 1;
    void look(const update_by_hand<T>& x, std::size_t, std::size_t) { a = x.step > 1 ? T(gain) : T(1); }
    T operator()(const known<T>& k, T& smoothed, T&) const { return smoothed += a * (k.mean - smoothed); }
  };
  template <class S, class T>
  struct statements {
    auto& operator()(auto& x) {
      auto& smoothed = x.state[0];
      const T a = x.step > 1 ? T(gain) : T(1);
      S::set(smoothed, smoothed + a * (x.landed - smoothed));
      return smoothed;
    }
  };
};

struct extrapolation : predictor {
  static constexpr const char* name = "extrapolation";
  static constexpr syncopate::linear_extrapolation policy{horizon};

  template <class T>
  struct by_hand {
    T reach = 0;
    void look(const update_by_hand<T>& x, std::size_t, std::size_t) { reach = x.step > 1 ? T(horizon) : T(0); }
    T operator()(const known<T>& k, T& previous, T&) const {
      const T prediction = k.mean + reach * (k.mean - previous);
      previous = k.mean;
      return prediction;
    }
  };
  template <class S, class T>
  struct statements {
    auto& operator()(auto& x) {
      const T reach = x.step > 1 ? T(horizon) : T(0);
      S::set(x.scratch, x.landed + reach * (x.landed - x.state[0]));
      S::set(x.state[0], x.landed);
      return x.scratch;
    }
  };
};

struct compensation : predictor {
  static constexpr const char* name = "compensation";
  static constexpr syncopate::delay_compensation policy{strength};
  static constexpr parts::keeps keeps = parts::keeps::weights;

  template <class T>
  struct by_hand {
    void look(const update_by_hand<T>&, std::size_t, std::size_t) {}
    T operator()(const known<T>& k, T&, T&) const {
      return k.mean + T(strength) * k.mean * k.mean * (k.weight - k.weight_then);
    }
  };
  template <class S, class T>
  struct statements {
    auto& operator()(auto& x) {
      S::set(x.scratch, x.landed + T(strength) * x.landed * x.landed * (x.weights - x.kept_with_landed));
      return x.scratch;
    }
  };
};

/// Trigg and Leach's gain |A| / D, with norms over `Stretch` elements.
template <std::size_t Stretch>
struct adaptive_smoothing : predictor {
  static constexpr bool by_chunk = Stretch == syncopate::detail::chunk_length;
  static constexpr const char* name = by_chunk ? "adaptive_smoothing_per_chunk" : "adaptive_smoothing";
  static constexpr syncopate::adaptive_exponential_smoothing<> policy{
      {}, by_chunk ? syncopate::granularity::chunk : syncopate::granularity::tensor};
  static constexpr std::size_t stretch = Stretch;
  static constexpr double phi = policy.law.smoothing, lowest = policy.law.lowest_gain;

  static double next_gain(std::int64_t step, double signals, double errors, double& deviation) {
    deviation += phi * (std::sqrt(errors) - deviation);
    return step > 1 && deviation > 0 ? std::clamp(std::sqrt(signals) / deviation, lowest, 1.0) : 1.0;
  }

  template <class T>
  struct by_hand {
    std::vector<double> deviations;
    T a = 0;

    void look(const update_by_hand<T>& x, std::size_t begin, std::size_t end) {
      constexpr std::size_t lanes = 16, block = 512;
      const T* __restrict const landed = x.landed;
      const T* __restrict const smoothed = x.state[0];
      const T* __restrict const signal = x.state[1];
      double errors = 0, signals = 0;
      for (std::size_t first = begin; first < end; first += block) {  // sizes are multiples of the block here
        T error_lanes[lanes] = {}, signal_lanes[lanes] = {};
        for (std::size_t i = first; i < first + block; i += lanes) {
          INDEPENDENT
          for (std::size_t l = 0; l < lanes; ++l) {
            const T e = landed[i + l] - smoothed[i + l];
            const T s = signal[i + l] + T(phi) * (e - signal[i + l]);
            error_lanes[l] += e * e;
            signal_lanes[l] += s * s;
          }
        }
        for (std::size_t l = 0; l < lanes; ++l) {
          errors += static_cast<double>(error_lanes[l]);
          signals += static_cast<double>(signal_lanes[l]);
        }
      }
      if (deviations.empty()) deviations.resize(x.size / (end - begin));
      a = T(next_gain(x.step, signals, errors, deviations[begin / (end - begin)]));
    }
    struct formula {
      T a;
      T operator()(const known<T>& k, T& smoothed, T& signal) const {
        const T error = k.mean - smoothed;
        signal += T(phi) * (error - signal);
        return smoothed += a * error;
      }
    };
    explicit operator formula() const { return {a}; }
  };
  template <class S, class T>
  struct statements {
    double deviation = 0;
    auto& operator()(auto& x) {
      auto &smoothed = x.state[0], &signal = x.state[1];
      const double errors = S::squares(x.landed - smoothed);
      S::set(signal, signal + T(phi) * (x.landed - smoothed - signal));
      const T a = T(next_gain(x.step, S::squares(signal), errors, deviation));
      S::set(smoothed, smoothed + a * (x.landed - smoothed));
      return smoothed;
    }
  };
};
/// Over a whole tensor.
inline constexpr std::size_t everything = ~std::size_t{0};

struct local : predictor {
  static constexpr const char* name = "local";
  static constexpr syncopate::local_gradient policy{};
  static constexpr parts::keeps keeps = parts::keeps::own;

  template <class T>
  struct by_hand {
    void look(const update_by_hand<T>&, std::size_t, std::size_t) {}
    T operator()(const known<T>& k, T&, T&) const { return k.own; }
  };
  template <class S, class T>
  struct statements {
    auto& operator()(auto& x) { return x.kept; }
  };
};

struct blended : predictor {
  static constexpr const char* name = "blended";
  static constexpr syncopate::blended_gradient policy{own_share};
  static constexpr parts::keeps keeps = parts::keeps::own;

  template <class T>
  struct by_hand {
    void look(const update_by_hand<T>&, std::size_t, std::size_t) {}
    T operator()(const known<T>& k, T&, T&) const { return k.mean + T(own_share) * (k.own - k.mean); }
  };
  template <class S, class T>
  struct statements {
    auto& operator()(auto& x) {
      S::set(x.scratch, x.landed + T(own_share) * (x.kept - x.landed));
      return x.scratch;
    }
  };
};

/// Merges of a late mean.

struct replace {
  static constexpr const char* name = "replace";
  static constexpr syncopate::replace policy{};
  static constexpr bool keeps_own = false;

  template <class T>
  static T by_hand(T, T mean, T) {
    return mean;
  }
  template <class S, class T>
  static void statements(auto& x) {
    S::set(x.weights, x.landed);
  }
};

struct blend {
  static constexpr const char* name = "blend";
  static constexpr syncopate::blend policy{};
  static constexpr bool keeps_own = false;

  template <class T>
  static T by_hand(T w, T mean, T) {
    return mean + T(policy.own_share) * (w - mean);
  }
  template <class S, class T>
  static void statements(auto& x) {
    S::set(x.weights, x.landed + T(policy.own_share) * (x.weights - x.landed));
  }
};

struct two_parameter_merge {
  static constexpr const char* name = "two_parameter_merge";
  static constexpr syncopate::two_parameter_merge policy{.local_progress = 0.9, .disagreement = 0.1};
  static constexpr bool keeps_own = true;

  template <class T>
  static T by_hand(T w, T mean, T own) {
    return mean + T(policy.disagreement) * (own - mean) + T(policy.local_progress) * (w - own);
  }
  template <class S, class T>
  static void statements(auto& x) {
    S::set(x.weights, x.landed + T(policy.disagreement) * (x.kept_with_landed - x.landed) +
                          T(policy.local_progress) * (x.weights - x.kept_with_landed));
  }
};

}  // namespace parts
