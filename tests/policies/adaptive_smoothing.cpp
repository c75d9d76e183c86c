#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdint>
#include <limits>
#include <syncopate/predictors/adaptive_exponential_smoothing.hpp>
#include <syncopate/predictors/exponential_smoothing.hpp>
#include <syncopate/predictors/gain_laws/cosine_gate.hpp>
#include <syncopate/predictors/gain_laws/fixed_gain.hpp>
#include <vector>

#include "random_values.hpp"

using namespace syncopate;

using by_signal = adaptive_exponential_smoothing<tracking_signal>;
using by_cosine = adaptive_exponential_smoothing<cosine_gate>;
using by_constant = adaptive_exponential_smoothing<fixed_gain>;

static_assert(GradientPredictor<by_signal, float> && GradientPredictor<by_signal, double>);
static_assert(GradientPredictor<by_cosine, float> && GradientPredictor<by_cosine, double>);
static_assert(GradientPredictor<by_constant, float> && GradientPredictor<by_constant, double>);

static_assert(std::same_as<decltype(adaptive_exponential_smoothing{}), by_signal>);
static_assert(std::same_as<decltype(adaptive_exponential_smoothing{cosine_gate{.strength = 0.5}}), by_cosine>);
static_assert(adaptive_exponential_smoothing{fixed_gain{}, granularity::chunk}.per == granularity::chunk);
static_assert(by_signal{.per = granularity::chunk}.law.smoothing == tracking_signal{}.smoothing);

static_assert(detail::state_vectors<by_signal> == 2 && detail::scalars<by_signal> == 1);
static_assert(detail::state_vectors<by_cosine> == 1 && detail::scalars<by_cosine> == 0);
static_assert(detail::state_vectors<by_constant> == 1 && detail::scalars<by_constant> == 0);
static_assert(detail::observed_terms<by_signal, float> == 2);
static_assert(detail::observed_terms<by_cosine, float> == 3);
static_assert(detail::observed_terms<by_constant, float> == 0);

namespace {

/// What the engine does for one group, written plainly: observe all elements, prepare once, predict each.
template <class P, class T>
class one_group {
 public:
  one_group(P policy, std::size_t size) : policy_(policy), state_(size) {}

  std::vector<T> predict(const std::vector<T>& means) {
    constexpr std::size_t terms = detail::observed_terms<P, T>;
    std::array<double, terms> sums{};
    for (std::size_t i = 0; i < means.size(); ++i)
      if constexpr (terms > 0) {
        const auto values =
            std::apply([&](const auto&... s) { return policy_.observe(landed<T>{.mean = means[i]}, s...); }, state_[i]);
        for (std::size_t k = 0; k < terms; ++k) sums[k] += double{values[k]};
      }
    gain = detail::prepare(policy_, count_++, sums, kept_);
    std::vector<T> predicted(means.size());
    for (std::size_t i = 0; i < means.size(); ++i)
      predicted[i] =
          std::apply([&](auto&... s) { return policy_.predict(landed<T>{.mean = means[i]}, s..., gain); }, state_[i]);
    return predicted;
  }

  double gain = 0;

 private:
  P policy_;
  std::vector<std::array<T, detail::state_vectors<P>>> state_;
  std::array<double, detail::scalars<P>> kept_{};
  std::int64_t count_ = 0;
};

double norm(const std::vector<double>& x) {
  double sum = 0;
  for (const double element : x) sum += element * element;
  return std::sqrt(sum);
}

}  // namespace

TEMPLATE_TEST_CASE("the tracking signal equals its recurrence on whole vectors", "[predictor]", float, double) {
  const std::size_t size = 64;
  const double phi = 0.3, lowest = 0.2;
  one_group<by_signal, TestType> group(by_signal{{.smoothing = phi, .lowest_gain = lowest}}, size);
  random_values<TestType> draw(5);
  std::vector<double> smoothed(size), signal(size), error(size);
  double deviation = 0;
  for (int k = 0; k < 100; ++k) {
    const std::vector<TestType> means = draw(size);
    const std::vector<TestType> predicted = group.predict(means);

    for (std::size_t i = 0; i < size; ++i) {
      error[i] = double{means[i]} - smoothed[i];
      signal[i] = phi * error[i] + (1 - phi) * signal[i];
    }
    deviation = phi * norm(error) + (1 - phi) * deviation;
    CHECK(norm(signal) <= deviation * (1 + 1e-12));  // the triangle inequality, up to rounding
    const double gain = k == 0 ? 1 : std::clamp(norm(signal) / deviation, lowest, 1.0);

    // Errors of the state are damped by 1 − a ≤ 0.8 and 1 − φ = 0.7; those of a step come to a few roundings of
    // numbers that are at most 2, those of a gain to the relative errors of two norms of them.
    const double bound = 200 * double{std::numeric_limits<TestType>::epsilon()};
    CHECK(std::abs(group.gain - gain) <= bound);
    for (std::size_t i = 0; i < size; ++i) {
      smoothed[i] = gain * double{means[i]} + (1 - gain) * smoothed[i];
      CHECK(std::abs(double{predicted[i]} - smoothed[i]) <= bound);
    }
  }
}

TEMPLATE_TEST_CASE("the tracking signal stays between its bounds, whatever arrives", "[predictor]", float, double) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    const double lowest = 0.05 * seed;
    one_group<by_signal, TestType> group(by_signal{{.smoothing = 0.05 + 0.05 * seed, .lowest_gain = lowest}}, 3);
    random_values<TestType> draw(seed);
    for (int k = 0; k < 200; ++k) {
      std::vector<TestType> means = draw(3);
      for (TestType& mean : means) mean *= std::exp(10 * draw());  // four orders of magnitude up and down
      group.predict(means);
      CHECK(group.gain >= (k == 0 ? 1 : lowest));
      CHECK(group.gain <= 1);
    }
  }
}

TEST_CASE("the tracking signal follows a drift and averages noise", "[predictor]") {
  // Errors of a mean that only grows are parallel: ‖A‖ = D, and the gain is 1.
  one_group<by_signal, double> drifting(by_signal{}, 8);
  for (int k = 1; k < 50; ++k) {
    drifting.predict(std::vector<double>(8, k));
    CHECK(drifting.gain == Approx(1).epsilon(1e-12));
  }

  // Independent errors in many dimensions are nearly orthogonal: ‖A‖ / D is near √(φ / (2 − φ)) = 1/3. They are not
  // quite independent, since s contains earlier noise, which lowers the ratio. It must be far from both bounds.
  const std::size_t size = 10'000;
  one_group<by_signal, double> noisy(by_signal{{.smoothing = 0.2, .lowest_gain = 0}}, size);
  random_values<double> draw(6);
  for (int k = 0; k < 100; ++k) noisy.predict(draw(size));
  CHECK(noisy.gain > 0.2);
  CHECK(noisy.gain < 0.34);
}

TEMPLATE_TEST_CASE("nothing but zeros gives gain 1 and predicts zero", "[predictor]", float, double) {
  one_group<by_signal, TestType> signal(by_signal{}, 4);
  one_group<by_cosine, TestType> cosine(by_cosine{}, 4);
  const std::vector<TestType> zeros(4);
  for (int k = 0; k < 3; ++k) {
    CHECK(signal.predict(zeros) == zeros);
    CHECK(signal.gain == 1);
    CHECK(cosine.predict(zeros) == zeros);
    CHECK(cosine.gain == 1);
  }
}

TEMPLATE_TEST_CASE("every gain law takes the first mean as it is", "[predictor]", float, double) {
  random_values<TestType> draw(7);
  const std::vector<TestType> first = draw(5);
  CHECK(one_group<by_signal, TestType>(by_signal{}, 5).predict(first) == first);
  CHECK(one_group<by_cosine, TestType>(by_cosine{}, 5).predict(first) == first);
  CHECK(one_group<by_constant, TestType>(by_constant{}, 5).predict(first) == first);
}

TEMPLATE_TEST_CASE("a fixed gain is exponential smoothing, bitwise", "[predictor]", float, double) {
  one_group<by_constant, TestType> adaptive(by_constant{{.gain = 0.3}}, 10);
  one_group<exponential_smoothing, TestType> fixed(exponential_smoothing{.gain = 0.3}, 10);
  random_values<TestType> draw(8);
  for (int k = 0; k < 50; ++k) {
    const std::vector<TestType> means = draw(10);
    CHECK(adaptive.predict(means) == fixed.predict(means));
  }
}

TEST_CASE("the cosine gate reads the angle between the newest mean and the history", "[predictor]") {
  using vector = std::vector<double>;
  const auto gain_after = [](const vector& history, const vector& newest) {
    one_group<by_cosine, double> group(by_cosine{{.strength = 0.5}}, 2);
    group.predict(history);
    group.predict(newest);
    return group.gain;
  };
  CHECK(gain_after({3, 4}, {6, 8}) == Approx(0.5).epsilon(1e-15));                   // parallel: 1 − c
  CHECK(gain_after({1, 0}, {0, 7}) == 1);                                            // orthogonal
  CHECK(gain_after({1, 1}, {-1, -2}) == 1);                                          // opposite: the history is dropped
  CHECK(gain_after({1, 0}, {1, 1}) == Approx(1 - std::sqrt(0.125)).epsilon(1e-15));  // 45°: 1 − c cos
  CHECK(gain_after({1, 0}, {0, 0}) == 1);                                            // no angle
}
