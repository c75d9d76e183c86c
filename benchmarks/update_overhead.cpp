/// What an update costs: every shipped composition next to the loop one would write by hand for it, timed in turns, in
/// one run. `time_ratio` is the median of (ours / by hand) over the pairs.

#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <syncopate/syncopate.hpp>
#include <utility>
#include <vector>

namespace {

using namespace syncopate;
using clock_type = std::chrono::steady_clock;

/// Parameter-sized vectors of a hand-written update. Weights and gradient are a user's; the others begin at different
/// places within a page, as the engine's do: in `std::vector`s the same loops take up to 1.5 times as long.
template <class T>
struct vectors {
  explicit vectors(std::size_t n)
      : w(n, T(1)), g(n), message(n), in_flight(n), a(n), b(n), c(n), d(n), kept(n), kept_in_flight(n) {
    for (std::size_t i = 0; i < n; ++i) g[i] = T(1e-3) * T(i % 17) - T(8e-3);
  }
  std::vector<T> w, g;
  detail::buffer<T> message, in_flight, a, b, c, d, kept, kept_in_flight;
};

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

template <class Action>
double seconds(Action action) {
  const auto begin = clock_type::now();
  action();
  return std::chrono::duration<double>(clock_type::now() - begin).count();
}

/// Times `step` of a scheme and the hand-written loop in turns. `bytes` is what one parameter moves.
template <class T, class Make, class Hand>
void compare(benchmark::State& state, Make make, Hand hand, std::size_t bytes) {
  const auto n = static_cast<std::size_t>(state.range(0));
  vectors<T> theirs(n);
  std::vector<T> weights = theirs.w;
  auto scheme = make(weights);
  const std::size_t repeats = std::max<std::size_t>(1, (std::size_t{1} << 17) / n);
  std::vector<double> ratios;
  const auto ours_once = [&] {
    for (std::size_t r = 0; r < repeats; ++r) scheme.step(weights, theirs.g);
  };
  const auto hand_once = [&] {
    for (std::size_t r = 0; r < repeats; ++r) {
      hand(theirs, n);
      benchmark::ClobberMemory();
    }
  };
  ours_once();
  hand_once();
  double total_ours = 0, total_hand = 0;
  for (auto _ : state) {
    const bool first = ratios.size() % 2 == 0;  // take turns in going first
    const double before = first ? 0 : seconds(hand_once);
    const double ours = seconds(ours_once);
    const double theirs_time = first ? seconds(hand_once) : before;
    ratios.push_back(ours / theirs_time);
    total_ours += ours;
    total_hand += theirs_time;
    state.SetIterationTime(ours / static_cast<double>(repeats));
  }
  const double updates = static_cast<double>(ratios.size() * repeats);
  state.counters["ms_by_hand"] = 1e3 * total_hand / updates;
  state.counters["time_ratio"] = median(ratios);
  state.counters["bytes_per_parameter"] = static_cast<double>(bytes * sizeof(T) / 4);
  state.SetBytesProcessed(static_cast<std::int64_t>(updates * static_cast<double>(n * bytes * sizeof(T) / 4)));
}

#if defined(__clang__)
#define INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define INDEPENDENT _Pragma("GCC ivdep")
#endif

// The hand-written updates do what overlapping demands: copy the gradient to a message, then absorb, in one fused loop,
// the message of the step before.

template <class T>
void copy(const T* __restrict gradient, T* __restrict message, std::size_t n) {
  INDEPENDENT
  for (std::size_t i = 0; i < n; ++i) message[i] = gradient[i];
}

constexpr double rate = 1e-3, momentum = 0.9, gain = 0.5, beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8, decay = 1e-2;

template <class T>
[[gnu::always_inline]] inline void momentum_step(T& w, T& v, T g) {
  v = g + T(momentum) * v;
  w -= T(rate) * v;
}

template <class T>
[[gnu::always_inline]] inline void adamw_step(T& w, T& m, T& v, T g, T scale, T root) {
  w -= T(rate * decay) * w;
  m += T(1 - beta1) * (g - m);
  v += T(1 - beta2) * (g * g - v);
  w -= scale * m / (detail::square_root(v) * root + T(epsilon));
}

template <class T, class Predict>
[[gnu::always_inline]] inline void sgd_by_hand(vectors<T>& x, std::size_t n, Predict predict) {
  copy(x.g.data(), x.message.data(), n);
  T* __restrict const w = x.w.data();
  const T* __restrict const m = x.in_flight.data();
  T* __restrict const v = x.a.data();
  T* __restrict const s = x.b.data();
  T* __restrict const then = x.c.data();
  INDEPENDENT
  for (std::size_t i = 0; i < n; ++i) momentum_step(w[i], v[i], predict(m[i], s[i], w[i], then[i]));
  std::swap(x.message, x.in_flight);
}

template <class T, class Predict>
[[gnu::always_inline]] inline void adamw_by_hand(vectors<T>& x, std::size_t n, Predict predict) {
  copy(x.g.data(), x.message.data(), n);
  static int step = 0;
  ++step;
  const T scale = T(rate / (1 - std::pow(beta1, step)));
  const T root = T(1 / std::sqrt(1 - std::pow(beta2, step)));
  T* __restrict const w = x.w.data();
  const T* __restrict const m = x.in_flight.data();
  T* __restrict const first = x.a.data();
  T* __restrict const second = x.d.data();
  T* __restrict const s = x.b.data();
  T* __restrict const then = x.c.data();
  INDEPENDENT
  for (std::size_t i = 0; i < n; ++i)
    adamw_step(w[i], first[i], second[i], predict(m[i], s[i], w[i], then[i]), scale, root);
  std::swap(x.message, x.in_flight);
}

constexpr auto newest = []<class T>(T m, T&, T, T) { return m; };
constexpr auto smoothed = []<class T>(T m, T& s, T, T) { return s += T(gain) * (m - s); };
constexpr auto extrapolated = []<class T>(T m, T& previous, T, T) {
  const T prediction = m + T(0.5) * (m - previous);
  previous = m;
  return prediction;
};

constexpr sgd heavy_ball{.learning_rate = rate, .momentum = momentum};
constexpr adamw adam{.learning_rate = rate, .beta1 = beta1, .beta2 = beta2, .epsilon = epsilon, .weight_decay = decay};

template <class T, class Predictor, class Rule>
auto committed(Predictor predictor, Rule rule) {
  return [=](std::vector<T>& w) { return pseudo_synchronous_sgd(w, loopback{}, rule, predictor); };
}

template <class T>
void no_prediction_sgd(benchmark::State& state) {
  compare<T>(
      state, committed<T>(no_prediction{}, heavy_ball), [](auto& x, std::size_t n) { sgd_by_hand(x, n, newest); },
      8 + 20);
}
template <class T>
void smoothing_sgd(benchmark::State& state) {
  compare<T>(
      state, committed<T>(exponential_smoothing{gain}, heavy_ball),
      [](auto& x, std::size_t n) { sgd_by_hand(x, n, smoothed); }, 8 + 28);
}
template <class T>
void extrapolation_sgd(benchmark::State& state) {
  compare<T>(
      state, committed<T>(linear_extrapolation{0.5}, heavy_ball),
      [](auto& x, std::size_t n) { sgd_by_hand(x, n, extrapolated); }, 8 + 28);
}
template <class T>
void no_prediction_adamw(benchmark::State& state) {
  compare<T>(
      state, committed<T>(no_prediction{}, adam), [](auto& x, std::size_t n) { adamw_by_hand(x, n, newest); }, 8 + 28);
}
template <class T>
void smoothing_adamw(benchmark::State& state) {
  compare<T>(
      state, committed<T>(exponential_smoothing{gain}, adam),
      [](auto& x, std::size_t n) { adamw_by_hand(x, n, smoothed); }, 8 + 36);
}
template <class T>
void extrapolation_adamw(benchmark::State& state) {
  compare<T>(
      state, committed<T>(linear_extrapolation{0.5}, adam),
      [](auto& x, std::size_t n) { adamw_by_hand(x, n, extrapolated); }, 8 + 36);
}

/// g + λ g² (w − w_then): the weights at the launch are kept with the message.
template <class T, bool Adam>
void compensated_by_hand(vectors<T>& x, std::size_t n) {
  T* __restrict const w = x.w.data();
  const T* __restrict const g = x.g.data();
  T* __restrict const message = x.message.data();
  const T* __restrict const m = x.in_flight.data();
  const T* __restrict const then = x.kept_in_flight.data();
  T* __restrict const v = x.a.data();
  T* __restrict const u = x.d.data();
  T* __restrict const kept = x.kept.data();
  static int step = 0;
  ++step;
  const T scale = T(rate / (1 - std::pow(beta1, step)));
  const T root = T(1 / std::sqrt(1 - std::pow(beta2, step)));
  INDEPENDENT
  for (std::size_t i = 0; i < n; ++i) {
    kept[i] = w[i];
    message[i] = g[i];
  }
  INDEPENDENT
  for (std::size_t i = 0; i < n; ++i) {
    const T compensated = m[i] + T(0.04) * m[i] * m[i] * (w[i] - then[i]);
    if constexpr (Adam)
      adamw_step(w[i], v[i], u[i], compensated, scale, root);
    else
      momentum_step(w[i], v[i], compensated);
  }
  std::swap(x.kept, x.kept_in_flight);
  std::swap(x.message, x.in_flight);
}
template <class T>
void compensation_sgd(benchmark::State& state) {
  compare<T>(
      state, committed<T>(delay_compensation{0.04}, heavy_ball),
      [](auto& x, std::size_t n) { compensated_by_hand<T, false>(x, n); }, 16 + 24);
}
template <class T>
void compensation_adamw(benchmark::State& state) {
  compare<T>(
      state, committed<T>(delay_compensation{0.04}, adam),
      [](auto& x, std::size_t n) { compensated_by_hand<T, true>(x, n); }, 16 + 32);
}

/// e = m - s; A moves to e by phi; the gain is |A| / D of the whole tensor, so it takes a loop of its own, which sums
/// in lanes; then the fused loop.
template <class T>
struct adaptive_by_hand {
  double deviation = 0;

  template <bool Adam>
  void run(vectors<T>& x, std::size_t n, T scale, T root) {
    copy(x.g.data(), x.message.data(), n);
    constexpr double phi = tracking_signal{}.smoothing, lowest = tracking_signal{}.lowest_gain;
    T* __restrict const w = x.w.data();
    const T* __restrict const m = x.in_flight.data();
    T* __restrict const v = x.a.data();
    T* __restrict const u = x.d.data();
    T* __restrict const s = x.b.data();
    T* __restrict const mean_error = x.c.data();
    constexpr std::size_t lanes = 16, block = 512;
    double errors = 0, signals = 0;
    for (std::size_t begin = 0; begin < n; begin += block) {  // n is a multiple of the block here
      T error_lanes[lanes] = {}, signal_lanes[lanes] = {};
      for (std::size_t i = begin; i < begin + block; i += lanes) {
        INDEPENDENT
        for (std::size_t l = 0; l < lanes; ++l) {
          const T e = m[i + l] - s[i + l];
          const T a = mean_error[i + l] + T(phi) * (e - mean_error[i + l]);
          error_lanes[l] += e * e;
          signal_lanes[l] += a * a;
        }
      }
      for (std::size_t l = 0; l < lanes; ++l) {
        errors += static_cast<double>(error_lanes[l]);
        signals += static_cast<double>(signal_lanes[l]);
      }
    }
    deviation += phi * (std::sqrt(errors) - deviation);
    const T a = T(deviation > 0 ? std::clamp(std::sqrt(signals) / deviation, lowest, 1.0) : 1.0);
    INDEPENDENT
    for (std::size_t i = 0; i < n; ++i) {
      const T e = m[i] - s[i];
      mean_error[i] += T(phi) * (e - mean_error[i]);
      s[i] += a * e;
      if constexpr (Adam)
        adamw_step(w[i], v[i], u[i], s[i], scale, root);
      else
        momentum_step(w[i], v[i], s[i]);
    }
    std::swap(x.message, x.in_flight);
  }
};
template <class T>
void adaptive_sgd(benchmark::State& state) {
  adaptive_by_hand<T> hand;
  compare<T>(
      state, committed<T>(adaptive_exponential_smoothing<>{}, heavy_ball),
      [&](auto& x, std::size_t n) { hand.template run<false>(x, n, T(1), T(1)); }, 8 + 12 + 36);
}
template <class T>
void adaptive_adamw(benchmark::State& state) {
  adaptive_by_hand<T> hand;
  compare<T>(
      state, committed<T>(adaptive_exponential_smoothing<>{}, adam),
      [&](auto& x, std::size_t n) { hand.template run<true>(x, n, T(rate), T(1)); }, 8 + 12 + 44);
}

/// W ← a step of the rule by the mean; the user's weights ← a step from there by a gradient made of the rank's own one
/// and the mean.
template <class T, bool Adam, class Predict>
[[gnu::always_inline]] inline void lookahead_by_hand(vectors<T>& x, std::size_t n, Predict predict) {
  static int step = 0;
  ++step;
  const T scale = T(rate / (1 - std::pow(beta1, step))), next_scale = T(rate / (1 - std::pow(beta1, step + 1)));
  const T root = T(1 / std::sqrt(1 - std::pow(beta2, step))),
          next_root = T(1 / std::sqrt(1 - std::pow(beta2, step + 1)));
  const T* __restrict const g = x.g.data();
  T* __restrict const message = x.message.data();
  const T* __restrict const m = x.in_flight.data();
  T* __restrict const own = x.b.data();
  T* __restrict const v = x.a.data();
  T* __restrict const u = x.d.data();
  T* __restrict const w = x.c.data();
  T* __restrict const user = x.w.data();
  INDEPENDENT
  for (std::size_t i = 0; i < n; ++i) message[i] = own[i] = g[i];
  INDEPENDENT
  for (std::size_t i = 0; i < n; ++i) {
    if constexpr (Adam)
      adamw_step(w[i], v[i], u[i], m[i], scale, root);
    else
      momentum_step(w[i], v[i], m[i]);
    T ahead = w[i], first = v[i], second = u[i];
    if constexpr (Adam)
      adamw_step(ahead, first, second, predict(m[i], own[i]), next_scale, next_root);
    else
      momentum_step(ahead, first, predict(m[i], own[i]));
    user[i] = ahead;
  }
  std::swap(x.message, x.in_flight);
}

template <class T, class Predictor, class Rule>
auto looking_ahead(Predictor predictor, Rule rule) {
  return [=](std::vector<T>& w) { return syncopate::lookahead_sgd(w, loopback{}, rule, predictor); };
}
constexpr auto own_gradient = []<class T>(T, T own) { return own; };
constexpr auto blend_of_both = []<class T>(T m, T own) { return m + T(0.2) * (own - m); };

template <class T>
void lookahead_local_sgd(benchmark::State& state) {
  compare<T>(
      state, looking_ahead<T>(local_gradient{}, heavy_ball),
      [](auto& x, std::size_t n) { lookahead_by_hand<T, false>(x, n, own_gradient); }, 12 + 28);
}
template <class T>
void lookahead_local_adamw(benchmark::State& state) {
  compare<T>(
      state, looking_ahead<T>(local_gradient{}, adam),
      [](auto& x, std::size_t n) { lookahead_by_hand<T, true>(x, n, own_gradient); }, 12 + 36);
}
template <class T>
void lookahead_blended_sgd(benchmark::State& state) {
  compare<T>(
      state, looking_ahead<T>(blended_gradient{0.2}, heavy_ball),
      [](auto& x, std::size_t n) { lookahead_by_hand<T, false>(x, n, blend_of_both); }, 12 + 28);
}
template <class T>
void lookahead_blended_adamw(benchmark::State& state) {
  compare<T>(
      state, looking_ahead<T>(blended_gradient{0.2}, adam),
      [](auto& x, std::size_t n) { lookahead_by_hand<T, true>(x, n, blend_of_both); }, 12 + 36);
}

void sizes(benchmark::internal::Benchmark* b) {
  b->UseManualTime()->Unit(benchmark::kMillisecond)->MinTime(0.5);
  for (const std::int64_t n : {std::int64_t{1} << 14, std::int64_t{1} << 20, std::int64_t{1} << 24}) b->Arg(n);
}

BENCHMARK(no_prediction_sgd<float>)->Apply(sizes);
BENCHMARK(smoothing_sgd<float>)->Apply(sizes);
BENCHMARK(adaptive_sgd<float>)->Apply(sizes);
BENCHMARK(extrapolation_sgd<float>)->Apply(sizes);
BENCHMARK(compensation_sgd<float>)->Apply(sizes);
BENCHMARK(lookahead_local_sgd<float>)->Apply(sizes);
BENCHMARK(lookahead_blended_sgd<float>)->Apply(sizes);
BENCHMARK(no_prediction_adamw<float>)->Apply(sizes);
BENCHMARK(smoothing_adamw<float>)->Apply(sizes);
BENCHMARK(adaptive_adamw<float>)->Apply(sizes);
BENCHMARK(extrapolation_adamw<float>)->Apply(sizes);
BENCHMARK(compensation_adamw<float>)->Apply(sizes);
BENCHMARK(lookahead_local_adamw<float>)->Apply(sizes);
BENCHMARK(lookahead_blended_adamw<float>)->Apply(sizes);
BENCHMARK(smoothing_sgd<double>)->Apply(sizes);
BENCHMARK(smoothing_adamw<double>)->Apply(sizes);

}  // namespace
