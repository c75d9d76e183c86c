#include <catch2/catch.hpp>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <string>
#include <syncopate/syncopate.hpp>
#include <tuple>
#include <vector>

#include "../support/training.hpp"
#include "text_of.hpp"

using namespace syncopate;
using support::text_of;

namespace {

using model = support::model<float>;

template <class W>
auto make_scheme(W&& weights) {
  return pseudo_synchronous_sgd(weights, loopback{}, sgd{.learning_rate = 0.1, .momentum = 0.5},
                                exponential_smoothing{.gain = 0.5});
}

const std::string agreed = "the layout that was agreed at construction";

}  // namespace

TEST_CASE("Tensors that do not fit the layout are named", "[engine]") {
  model weights{std::vector<float>(5), std::vector<float>(600)}, gradients = weights;
  auto scheme = make_scheme(weights);
  const auto step = [&] { scheme.step(weights, gradients); };

  SECTION("a gradient of another size") {
    gradients[1].resize(599);
    CHECK(text_of<layout_error>(step) ==
          "syncopate: gradients of tensor 1 have 599 elements of float, but " + agreed + " has 600 elements of float");
  }
  SECTION("weights of another size") {
    weights[0].resize(1);
    CHECK(text_of<layout_error>(step) ==
          "syncopate: weights of tensor 0 have 1 element of float, but " + agreed + " has 5 elements of float");
  }
  SECTION("too many gradients") {
    gradients.emplace_back(3);
    CHECK(text_of<layout_error>(step) == "syncopate: there are more gradients than the 2 tensors of " + agreed);
  }
  SECTION("too few gradients") {
    gradients.pop_back();
    CHECK(text_of<layout_error>(step) == "syncopate: there are gradients of only 1 of the 2 tensors of " + agreed);
  }
  SECTION("too many weights") {
    weights.emplace_back(3);
    CHECK(text_of<layout_error>(step) == "syncopate: there are more weights than the 2 tensors of " + agreed);
  }
  SECTION("too few weights") {
    weights.clear();
    CHECK(text_of<layout_error>(step) == "syncopate: there are weights of only 0 of the 2 tensors of " + agreed);
  }
  SECTION("a consensus into a model of another size") {
    model out{std::vector<float>(5), std::vector<float>(601)};
    CHECK(text_of<layout_error>([&] { scheme.consensus(weights, out); }) ==
          "syncopate: weights of tensor 1 have 601 elements of float, but " + agreed + " has 600 elements of float");
  }
  SECTION("finish with weights of another size, which does not end training") {
    model others{std::vector<float>(5)};
    CHECK(text_of<layout_error>([&] { scheme.finish(others); }) ==
          "syncopate: there are weights of only 1 of the 2 tensors of " + agreed);
    step();
    scheme.finish(weights);
  }
}

TEST_CASE("In a model of both element types the faulty tensor is named", "[engine]") {
  std::vector<float> a(3), gradient_of_a(3);
  std::vector<double> b(4), gradient_of_b(4);
  auto scheme = make_scheme(std::tie(a, b));
  CHECK(text_of<layout_error>([&] { scheme.step(std::tie(a, b), std::tie(gradient_of_b, gradient_of_a)); }) ==
        "syncopate: gradients of tensor 0 have 4 elements of double, but " + agreed + " has 3 elements of float");
}

TEST_CASE("Weights share memory neither with gradients nor with each other", "[engine]") {
  std::vector<float> memory(20);
  const std::span<float> all(memory);
  std::vector<std::span<float>> weights{all.first(5), all.subspan(5, 4)};
  auto scheme = make_scheme(weights);
  const auto step_with = [&](std::span<float> first, std::span<float> second) {
    return text_of<layout_error>([&] { scheme.step(weights, std::vector{first, second}); });
  };
  const auto check = [](const std::string& text, const std::string& one, const std::string& other) {
    CHECK_THAT(text, Catch::Contains(one) && Catch::Contains(other) &&
                         Catch::EndsWith("share memory: weights must overlap neither gradients nor each other"));
  };

  check(step_with(all.first(5), all.subspan(9, 4)), "weights of tensor 0", "gradient of tensor 0");
  check(step_with(all.subspan(9, 5), all.subspan(5, 4)), "weights of tensor 1", "gradient of tensor 1");
  check(step_with(all.subspan(8, 5), all.subspan(14, 4)), "weights of tensor 1", "gradient of tensor 0");
  check(step_with(all.subspan(9, 5), all.subspan(1, 4)), "weights of tensor 0", "gradient of tensor 1");
  CHECK(step_with(all.subspan(9, 5), all.subspan(14, 4)) == "(nothing was thrown)");  // next to each other
  CHECK(step_with(all.subspan(9, 5), all.subspan(10, 4)) == "(nothing was thrown)");  // gradients are only read
  check(step_with(all.subspan(8, 5), all.subspan(14, 4)), "weights of tensor 1", "gradient of tensor 0");

  // Weights that have moved since the construction.
  std::vector<float> elsewhere(9);
  weights = {std::span(elsewhere).first(5), std::span(elsewhere).subspan(4, 4)};
  check(step_with(all.first(5), all.subspan(5, 4)), "weights of tensor 0", "weights of tensor 1");
  weights = {std::span(elsewhere).first(5), std::span(elsewhere).subspan(5, 4)};
  CHECK(step_with(all.first(5), all.subspan(5, 4)) == "(nothing was thrown)");
}

TEST_CASE("A tensor cannot be trained twice", "[engine]") {
  std::vector<float> weights(3);
  CHECK_THAT(text_of<layout_error>([&] { make_scheme(std::tie(weights, weights)); }),
             Catch::Contains("weights of tensor 0") && Catch::Contains("weights of tensor 1") &&
                 Catch::Contains("share memory"));
}

TEST_CASE("Nothing is trained after finish", "[engine]") {
  model weights{std::vector<float>(5)}, gradients = weights;
  auto scheme = make_scheme(weights);
  scheme.step(weights, gradients);
  scheme.finish(weights);
  CHECK(text_of<usage_error>([&] { scheme.step(weights, gradients); }) ==
        "syncopate: step was called after finish: make a new scheme to go on training");
  CHECK(text_of<usage_error>([&] { scheme.finish(weights); }) == "syncopate: finish was called twice");
  model out = weights;
  scheme.consensus(weights, out);
  CHECK(out == weights);
}

TEST_CASE("Samples are a finite number of at least 0", "[engine]") {
  support::model<double> weights{{8}}, gradients{{4}};
  auto scheme = compiled::synchronous_sgd<support::model<double>>(sgd{.learning_rate = 0.5})(
      weights, support::any_communicator(loopback{}));
  for (const double samples : {-1.0, -1e-300, std::nan(""), HUGE_VAL, -HUGE_VAL})
    CHECK_THAT(text_of<usage_error>([&] { scheme.step(weights, gradients, samples); }),
               Catch::StartsWith("syncopate: samples must be a finite number of at least 0, but is "));
  CHECK(weights[0][0] == 8);
  scheme.step(weights, gradients, 0);  // no rank has seen anything
  CHECK(weights[0][0] == 8);
  scheme.step(weights, gradients, 3);
  CHECK(weights[0][0] == 6);
}

TEST_CASE("Hyper-parameters that make no sense are refused at construction", "[engine]") {
  const auto said = [](const support::maker<model>& make) {
    return text_of<configuration_error>([&] {
      model weights{std::vector<float>(3)};
      make(weights, support::any_communicator(loopback{}));
    });
  };
  CHECK(said(compiled::synchronous_sgd<model>(sgd{.learning_rate = -1})) ==
        "syncopate: sgd.learning_rate must be a finite number of at least 0, but is -1");
  CHECK_THAT(said(compiled::lookahead_sgd<model>(sgd{}, local_gradient{}, -1)),
             Catch::StartsWith("syncopate: fixed_delay.delay must be"));
  CHECK_THAT(said(compiled::lookahead_sgd<model>(sgd{}, local_gradient{}, 70000)),
             Catch::StartsWith("syncopate: the delay policy wants 70000 messages in flight"));
  CHECK_THAT(said(compiled::dasgd<model>(sgd{}, periodic_delay{.period = 2, .delay = 3})),
             Catch::StartsWith("syncopate: periodic_delay.delay must not be longer than the period"));
  CHECK_THAT(said(compiled::scheme<model>(periodic_delay{}, weight_averaging{blend{1.5}, sgd{}})),
             Catch::StartsWith("syncopate: blend.own_share must be"));
  CHECK_THAT(
      said(compiled::scheme<model>(warm_up{0, fixed_delay{2}}, local_rule_averaging{local_gradient{}, sgd{}, sgd{}})),
      Catch::StartsWith("syncopate: a local rule of its own is defined for a delay of one step at most"));
}

TEST_CASE("A refused call changes nothing, and training goes on", "[engine]") {
  model weights{std::vector<float>(5, 1), std::vector<float>(600, 2)}, gradients = weights;
  model undisturbed = weights;
  auto scheme = make_scheme(weights), reference = make_scheme(undisturbed);
  for (int step = 0; step < 6; ++step) {
    for (std::size_t t = 0; t < weights.size(); ++t)
      for (std::size_t i = 0; i < weights[t].size(); ++i) gradients[t][i] = weights[t][i] - float(i);
    reference.step(undisturbed, gradients);

    const model before = weights;
    model small = gradients, large = gradients;
    small.back().pop_back();
    large.emplace_back(1);
    CHECK_THROWS_AS(scheme.step(weights, small), layout_error);
    CHECK_THROWS_AS(scheme.step(weights, large), layout_error);
    CHECK_THROWS_AS(scheme.step(small, gradients), layout_error);
    CHECK_THROWS_AS(scheme.step(weights, weights), layout_error);
    CHECK_THROWS_AS(scheme.step(weights, gradients, -1), usage_error);
    scheme.rule().learning_rate = std::numeric_limits<double>::infinity();
    CHECK(text_of<configuration_error>([&] { scheme.step(weights, gradients); }) ==
          "syncopate: sgd.learning_rate must be a finite number of at least 0, but is inf");
    scheme.rule().learning_rate = 0.1;
    scheme.averaging().predictor.gain = 2;
    CHECK_THAT(text_of<configuration_error>([&] { scheme.step(weights, gradients); }),
               Catch::StartsWith("syncopate: exponential_smoothing.gain must be"));
    scheme.averaging().predictor.gain = 0.5;
    CHECK_THROWS_AS(scheme.consensus(weights, small), layout_error);
    CHECK_THROWS_AS(scheme.finish(small), layout_error);
    CHECK(weights == before);

    scheme.step(weights, gradients);
    CHECK(weights == undisturbed);
    CHECK(scheme.statistics().steps == step + 1);
    CHECK(scheme.statistics().launched == step + 1);
  }
  scheme.finish(weights);
  reference.finish(undisturbed);
  CHECK(weights == undisturbed);
  CHECK(scheme.statistics().absorbed == 6);
}
