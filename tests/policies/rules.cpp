#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <syncopate/rules/adamw.hpp>
#include <syncopate/rules/sgd.hpp>
#include <variant>

#include "random_values.hpp"

using namespace syncopate;

static_assert(UpdateRule<sgd, float> && UpdateRule<sgd, double>);
static_assert(UpdateRule<adamw, float> && UpdateRule<adamw, double>);
static_assert(detail::state_vectors<sgd> == 1 && detail::state_vectors<adamw> == 2);

namespace {

/// One update by the rule, whichever alternative it prepares.
template <class T>
constexpr void advance(const sgd& rule, T& weight, T gradient, T& velocity, int count) {
  std::visit([&](const auto& prepared) { rule.apply(weight, gradient, velocity, prepared); }, rule.prepare(count));
}

}  // namespace

// Heavy ball, by the compiler: v = 4, then 0.5 · 4 + 4 = 6.
static_assert([] {
  constexpr sgd rule{.learning_rate = 0.25, .momentum = 0.5};
  double weight = 8, velocity = 0;
  advance(rule, weight, 4.0, velocity, 0);
  if (weight != 7 || velocity != 4) return false;
  advance(rule, weight, 4.0, velocity, 1);
  return weight == 5.5 && velocity == 6;
}());

namespace {

/// a · b + c as this compiler rounds it on this machine: once with fused multiply-add, else twice. Not inlined, since a
/// compiler that shares a product between two branches does not contract it.
template <class T>
[[gnu::noinline]] T multiply_add(T a, T b, T c) {
  return a * b + c;
}

/// torch.optim.SGD as its documentation defines it, over numbers of type T.
template <class T>
struct torch_sgd {
  sgd with;
  T buffer{};
  int t = 0;

  void step(T& weight, T g) {
    ++t;
    if (with.weight_decay != 0) g = multiply_add(T(with.weight_decay), weight, g);
    if (with.momentum != 0) {
      if (t > 1)
        buffer = multiply_add(T(with.momentum), buffer, T(T(1 - with.dampening) * g));
      else
        buffer = g;
      if (with.nesterov)
        g = multiply_add(T(with.momentum), buffer, g);
      else
        g = buffer;
    }
    weight = multiply_add(T(-with.learning_rate), g, weight);
  }
};

/// torch.optim.AdamW as its documentation defines it, in double.
struct torch_adamw {
  adamw with;
  double m = 0, v = 0;
  int t = 0;

  void step(double& weight, double g) {
    ++t;
    weight = weight - with.learning_rate * with.weight_decay * weight;
    m = with.beta1 * m + (1 - with.beta1) * g;
    v = with.beta2 * v + (1 - with.beta2) * g * g;
    const double m_hat = m / (1 - std::pow(with.beta1, t));
    const double v_hat = v / (1 - std::pow(with.beta2, t));
    weight = weight - with.learning_rate * m_hat / (std::sqrt(v_hat) + with.epsilon);
  }
};

}  // namespace

TEMPLATE_TEST_CASE("SGD without dampening is PyTorch's, bitwise", "[rule]", float, double) {
  const sgd rule =
      GENERATE(sgd{}, sgd{.learning_rate = 0.3, .weight_decay = 0.01}, sgd{.learning_rate = 0.1, .momentum = 0.9},
               sgd{.momentum = 0.9, .weight_decay = 5e-4}, sgd{.momentum = 0.9, .nesterov = true},
               sgd{.learning_rate = 0.01, .momentum = 0.7, .weight_decay = 0.1, .nesterov = true});
  torch_sgd<TestType> torch{rule};
  random_values<TestType> draw(1);
  TestType weight = draw(), expected = weight, velocity = 0;
  for (int k = 0; k < 200; ++k) {
    const TestType gradient = draw();
    advance(rule, weight, gradient, velocity, k);
    torch.step(expected, gradient);
    REQUIRE(weight == expected);
    if (rule.momentum != 0) REQUIRE(velocity == torch.buffer);
  }
}

TEMPLATE_TEST_CASE("SGD with dampening is PyTorch's up to rounding", "[rule]", float, double) {
  const sgd rule = GENERATE(sgd{.momentum = 0.9, .dampening = 0.9}, sgd{.momentum = 0.5, .dampening = 1},
                            sgd{.learning_rate = 0.3, .momentum = 0.9, .dampening = 0.1, .weight_decay = 0.01});
  torch_sgd<double> torch{rule};
  random_values<TestType> draw(2);
  TestType weight = draw(), velocity = 0;
  for (int k = 0; k < 200; ++k) {
    // Both start from the same numbers at each step; then there are at most 10 roundings on either side, of numbers
    // that are at most |w| + |g| + |v| in size.
    const TestType gradient = draw();
    double expected = double{weight};
    torch.buffer = double{velocity};
    const double bound = 10 * double{std::numeric_limits<TestType>::epsilon()} *
                         double{std::abs(weight) + std::abs(gradient) + std::abs(velocity)};
    torch.step(expected, double{gradient});
    advance(rule, weight, gradient, velocity, k);
    REQUIRE(std::abs(double{velocity} - torch.buffer) <= bound);
    REQUIRE(std::abs(double{weight} - expected) <= bound);
  }
}

TEST_CASE("without momentum, dampening has no effect, as in PyTorch", "[rule]") {
  const sgd rule{.learning_rate = 0.5, .dampening = 0.5};
  double weight = 1, velocity = 0;
  for (int k = 0; k < 3; ++k) advance(rule, weight, 1.0, velocity, k);
  CHECK(weight == -0.5);
}

TEST_CASE("the first SGD step is not dampened", "[rule]") {
  const sgd rule{.learning_rate = 1, .momentum = 0.5, .dampening = 0.75};
  double weight = 0, velocity = 0;
  advance(rule, weight, 8.0, velocity, 0);
  CHECK(velocity == 8);
  advance(rule, weight, 8.0, velocity, 1);
  CHECK(velocity == 0.5 * 8 + 0.25 * 8);
  CHECK(weight == -14);
}

TEMPLATE_TEST_CASE("AdamW is PyTorch's up to rounding", "[rule]", float, double) {
  const adamw rule = GENERATE(adamw{}, adamw{.learning_rate = 0.1, .weight_decay = 0},
                              adamw{.learning_rate = 0.01, .beta1 = 0.5, .beta2 = 0.9, .epsilon = 1e-3},
                              adamw{.learning_rate = 0.1, .beta1 = 0, .weight_decay = 0.5});
  const int steps = 50;
  torch_adamw torch{rule};
  random_values<TestType> draw(3);
  TestType weight = draw(), first = 0, second = 0;
  double expected = double{weight};
  for (int k = 0; k < steps; ++k) {
    const TestType gradient = draw();
    rule.apply(weight, gradient, first, second, rule.prepare(k));
    torch.step(expected, double{gradient});
    // The moments do not depend on the weight, and forget their errors; m is at most √t · √v̂, so that a step carries
    // over at most some ten roundings of learning_rate · √steps < 1; and the weight forgets nothing.
    const double bound = 16 * (k + 1) * double{std::numeric_limits<TestType>::epsilon()};
    REQUIRE(std::abs(double{weight} - expected) <= bound * std::max(1.0, std::abs(expected)));
  }
}

TEMPLATE_TEST_CASE("the first AdamW step has the size of the learning rate, whatever the gradient's", "[rule]", float,
                   double) {
  const adamw rule{.learning_rate = 0.5, .weight_decay = 0};
  for (const TestType gradient : {TestType(1e-3), TestType(-1), TestType(1e6)}) {
    TestType weight = 0, first = 0, second = 0;
    rule.apply(weight, gradient, first, second, rule.prepare(0));
    // |g| / (|g| + ε): 1 less at most 1e-5.
    CHECK(std::abs(weight + std::copysign(TestType(0.5), gradient)) <= TestType(1e-5));
  }
}

TEMPLATE_TEST_CASE("AdamW leaves a parameter without gradients alone", "[rule]", float, double) {
  const adamw rule{.weight_decay = 0};
  TestType weight = TestType(0.7), first = 0, second = 0;
  for (int k = 0; k < 10; ++k) rule.apply(weight, TestType(0), first, second, rule.prepare(k));
  CHECK(weight == TestType(0.7));
}

TEMPLATE_TEST_CASE("The heavy ball is the general rule without what it leaves out", "[sgd]", float, double) {
  const sgd rule{.learning_rate = 0.1, .momentum = 0.9};
  REQUIRE(std::holds_alternative<sgd::heavy_ball>(rule.prepare(0)));
  REQUIRE(std::holds_alternative<sgd::general>(sgd{.momentum = 0.9, .weight_decay = 1e-4}.prepare(0)));
  REQUIRE(std::holds_alternative<sgd::general>(sgd{.momentum = 0.9, .dampening = 0.5}.prepare(0)));
  REQUIRE(std::holds_alternative<sgd::general>(sgd{.momentum = 0.9, .nesterov = true}.prepare(0)));
  TestType simple_weight(1), simple_velocity(0), general_weight(1), general_velocity(0);
  for (int k = 0; k < 100; ++k) {
    const auto gradient = TestType(std::sin(k));
    rule.apply(simple_weight, gradient, simple_velocity, sgd::heavy_ball{});
    rule.apply(general_weight, gradient, general_velocity, sgd::general{.dampening = 0, .withheld = 1, .carried = 1});
    REQUIRE(simple_weight == general_weight);
    REQUIRE(simple_velocity == general_velocity);
  }
}
