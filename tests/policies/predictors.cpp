#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <syncopate/predictors/blended_gradient.hpp>
#include <syncopate/predictors/delay_compensation.hpp>
#include <syncopate/predictors/exponential_smoothing.hpp>
#include <syncopate/predictors/linear_extrapolation.hpp>
#include <syncopate/predictors/local_gradient.hpp>
#include <syncopate/predictors/no_prediction.hpp>

#include "random_values.hpp"

using namespace syncopate;

static_assert(GradientPredictor<no_prediction, float> && GradientPredictor<no_prediction, double>);
static_assert(GradientPredictor<exponential_smoothing, float> && GradientPredictor<exponential_smoothing, double>);
static_assert(GradientPredictor<linear_extrapolation, float> && GradientPredictor<linear_extrapolation, double>);
static_assert(GradientPredictor<delay_compensation, float> && GradientPredictor<delay_compensation, double>);
static_assert(GradientPredictor<local_gradient, float> && GradientPredictor<local_gradient, double>);
static_assert(GradientPredictor<blended_gradient, float> && GradientPredictor<blended_gradient, double>);

static_assert(detail::keeps_weights<delay_compensation> && !detail::keeps_own<delay_compensation>);
static_assert(detail::keeps_own<local_gradient> && detail::keeps_own<blended_gradient>);
static_assert(local_gradient::looks_ahead_only && blended_gradient::looks_ahead_only);

// Formulas can be evaluated by the compiler.
static_assert([] {
  constexpr exponential_smoothing policy{.gain = 0.25};
  double smoothed = 0;
  if (policy.predict({.mean = 8.0}, smoothed, policy.prepare(0)) != 8) return false;
  return policy.predict({.mean = 4.0}, smoothed, policy.prepare(1)) == 7 && smoothed == 7;
}());
static_assert([] {
  constexpr linear_extrapolation policy{.horizon = 0.5};
  float previous = 0;
  if (policy.predict({.mean = 8.0F}, previous, policy.prepare(0)) != 8) return false;
  return policy.predict({.mean = 4.0F}, previous, policy.prepare(1)) == 2 && previous == 4;
}());
static_assert(no_prediction{}.predict(landed<float>{.mean = 3}) == 3);
static_assert(local_gradient{}.predict(landed<double>{.mean = 3, .own = 4}) == 4);
static_assert(blended_gradient{.own_share = 0.25}.predict(landed<double>{.mean = 4, .own = 8}) == 5);
static_assert(delay_compensation{.strength = 0.5}.predict(landed<double>{.mean = 4, .weight = 3, .weight_then = 1}) ==
              4 + 0.5 * 16 * 2);

TEMPLATE_TEST_CASE("exponential smoothing is the geometric average of what arrived", "[predictor]", float, double) {
  const exponential_smoothing policy{.gain = 0.3};
  random_values<TestType> draw(1);
  std::vector<double> means;
  TestType smoothed = 0;
  for (int k = 0; k < 200; ++k) {
    const TestType mean = draw();
    means.push_back(double{mean});
    const TestType predicted = policy.predict(landed<TestType>{.mean = mean}, smoothed, policy.prepare(k));
    CHECK(predicted == smoothed);

    // The unrolled sum: s_k = (1 − a)^k m_0 + Σ a (1 − a)^(k − i) m_i. An error of at most 3 roundings per step (all
    // numbers are at most 2 in size) is damped by 1 − a: 3 · 2 / a = 20 ε.
    double expected = std::pow(0.7, k) * means[0];
    for (int i = 1; i <= k; ++i) expected += 0.3 * std::pow(0.7, k - i) * means[static_cast<std::size_t>(i)];
    CHECK(std::abs(double{predicted} - expected) <= 20 * double{std::numeric_limits<TestType>::epsilon()});
  }
}

TEMPLATE_TEST_CASE("smoothing with gain 1 predicts nothing", "[predictor]", float, double) {
  // Not bitwise: s + (m − s) rounds twice, each time by at most half an ε of a number of at most 2.
  const exponential_smoothing policy{.gain = 1};
  random_values<TestType> draw(2);
  TestType smoothed = 0;
  for (int k = 0; k < 100; ++k) {
    const landed<TestType> m{.mean = draw()};
    const TestType predicted = policy.predict(m, smoothed, policy.prepare(k));
    CHECK(std::abs(predicted - no_prediction{}.predict(m)) <= 2 * std::numeric_limits<TestType>::epsilon());
  }
}

TEMPLATE_TEST_CASE("the first mean is taken as it is by every predictor that has a history", "[predictor]", float,
                   double) {
  random_values<TestType> draw(3);
  for (int i = 0; i < 100; ++i) {
    const landed<TestType> m{.mean = draw()};
    TestType smoothed = 0, previous = 0;
    const exponential_smoothing smoothing{.gain = 0.1};
    const linear_extrapolation extrapolation{.horizon = 3};
    CHECK(smoothing.predict(m, smoothed, smoothing.prepare(0)) == m.mean);
    CHECK(extrapolation.predict(m, previous, extrapolation.prepare(0)) == m.mean);
  }
}

TEMPLATE_TEST_CASE("linear extrapolation continues a line exactly", "[predictor]", float, double) {
  // m_k = 3 + k / 4, and the means two and a half steps ahead: all of them binary fractions.
  const linear_extrapolation policy{.horizon = 2.5};
  TestType previous = 0;
  for (int k = 0; k < 50; ++k) {
    const TestType predicted =
        policy.predict(landed<TestType>{.mean = TestType(3 + k / 4.0)}, previous, policy.prepare(k));
    CHECK(predicted == TestType(k == 0 ? 3.0 : 3 + (k + 2.5) / 4));
  }
}

TEMPLATE_TEST_CASE("delay compensation and blending equal their formulas", "[predictor]", float, double) {
  random_values<TestType> draw(4);
  const double epsilon = double{std::numeric_limits<TestType>::epsilon()};
  for (int i = 0; i < 1000; ++i) {
    const landed<TestType> m{
        .mean = draw(), .own = draw(), .weight = draw(), .weight_then = draw(), .staleness = 1 + i % 3};
    const double mean = double{m.mean}, own = double{m.own};
    const double moved = double{m.weight} - double{m.weight_then};

    // 6 roundings of numbers that are at most 1 + 0.04 · 2.
    CHECK(std::abs(double{delay_compensation{}.predict(m)} - (mean + 0.04 * mean * mean * moved)) <= 6 * epsilon);
    // 4 roundings (the share's included) of numbers that are at most 2.
    CHECK(std::abs(double{blended_gradient{.own_share = 0.2}.predict(m)} - (0.2 * own + 0.8 * mean)) <= 8 * epsilon);
    CHECK(blended_gradient{.own_share = 0}.predict(m) == m.mean);
    CHECK(delay_compensation{.strength = 0}.predict(m) == m.mean);
    CHECK(local_gradient{}.predict(m) == m.own);
  }
}
