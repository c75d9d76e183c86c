#include <catch2/catch.hpp>
#include <cstddef>
#include <limits>
#include <string>
#include <syncopate/communicators/thread_team.hpp>
#include <syncopate/syncopate.hpp>
#include <tuple>
#include <utility>
#include <vector>

#include "../support/ranks.hpp"
#include "syncopate/detail/exchange/header.hpp"
#include "text_of.hpp"

using namespace syncopate;
using support::text_of;

namespace {

/// Three layers: a matrix and a vector, nothing but a vector, and a matrix and a vector again.
using layer = std::vector<std::vector<float>>;
using model = std::vector<layer>;
model three_layers(float value) {
  return {{std::vector<float>(6, value), std::vector<float>(2, value)},
          {std::vector<float>(2, value)},
          {std::vector<float>(4, value), std::vector<float>(2, value)}};
}

auto make_scheme(model& weights, const scheme_options& options = {.bucket_bytes = 0}) {
  return synchronous_sgd(weights, loopback{}, sgd{.learning_rate = 1}, options);
}

}  // namespace

TEST_CASE("A layer is updated when the forward pass comes to it, and not before", "[engine][layers]") {
  model weights = three_layers(0), gradients = three_layers(1);
  auto scheme = make_scheme(weights);
  scheme.begin_step(weights);
  for (const std::size_t i : {2u, 1u, 0u}) scheme.gradient_ready(i, gradients[i]);
  CHECK(weights == three_layers(0));
  scheme.end_step();
  CHECK(weights == three_layers(0));
  for (std::size_t i = 0; i < 3; ++i) {
    scheme.before_forward(i);
    for (std::size_t j = 0; j < 3; ++j) CHECK(weights[j] == three_layers(j <= i ? -1.f : 0.f)[j]);
  }
  scheme.finish(weights);
  CHECK(weights == three_layers(-1));
}

TEST_CASE("Layers that the forward pass leaves out are updated all the same", "[engine][layers]") {
  model weights = three_layers(0), gradients = three_layers(1);
  auto scheme = make_scheme(weights, {.bucket_bytes = 0, .optional_layers = {1}});
  const auto step = [&](bool all) {
    scheme.begin_step(weights);
    for (const std::size_t i : {2u, 1u, 0u})
      if (i != 1 || all) {
        scheme.before_forward(i);
        scheme.gradient_ready(i, gradients[i]);
      }
    scheme.end_step();
  };
  for (const bool all : {true, false, false, true, false}) step(all);
  SECTION("by finish") { scheme.finish(weights); }
  SECTION("by a step of the whole model") { scheme.step(weights, three_layers(0)); }
  SECTION("by consensus") {
    model evaluated = three_layers(7);
    scheme.consensus(weights, evaluated);
    CHECK(evaluated == weights);
    scheme.checksum(weights);
    const model expected = weights;
    gradients = three_layers(0);
    step(true);  // weights that were read in place of gradients are gradients no more
    step(false);
    scheme.before_forward(1);
    CHECK(weights == expected);
  }
  CHECK(weights[0] == three_layers(-5)[0]);
  CHECK(weights[1] == three_layers(-2)[1]);
  CHECK(weights[2] == three_layers(-5)[2]);
}

TEST_CASE("Calls that make no sense layer by layer are refused, and nothing is lost", "[engine][layers]") {
  model weights = three_layers(0), gradients = three_layers(1);
  auto scheme = make_scheme(weights);
  const auto give = [&](std::size_t i) { scheme.gradient_ready(i, gradients[i]); };

  CHECK(text_of<usage_error>([&] { give(0); }) ==
        "syncopate: gradient_ready was called outside a step: call begin_step before");
  CHECK(text_of<usage_error>([&] { scheme.end_step(); }) ==
        "syncopate: end_step was called outside a step: call begin_step before");
  CHECK(text_of<usage_error>([&] { scheme.before_forward(3); }) ==
        "syncopate: before_forward was called for layer 3, but there are 3 layers");
  CHECK(text_of<usage_error>([&] { scheme.begin_step(weights, -1); }) ==
        "syncopate: samples must be a finite number of at least 0, but is -1.000000");

  scheme.begin_step(weights);
  CHECK(text_of<usage_error>([&] { scheme.begin_step(weights); }) ==
        "syncopate: begin_step was called between begin_step and end_step");
  CHECK(text_of<usage_error>([&] { scheme.step(weights, gradients); }) ==
        "syncopate: step was called between begin_step and end_step");
  CHECK(text_of<usage_error>([&] { scheme.join(weights); }) ==
        "syncopate: join was called between begin_step and end_step");
  CHECK(text_of<usage_error>([&] { scheme.consensus(weights, gradients); }) ==
        "syncopate: consensus was called between begin_step and end_step");
  CHECK(text_of<usage_error>([&] { scheme.checksum(weights); }) ==
        "syncopate: checksum was called between begin_step and end_step");
  CHECK(text_of<usage_error>([&] { scheme.gradient_ready(3, gradients[0]); }) ==
        "syncopate: gradient_ready was called for layer 3, but there are 3 layers");
  give(2);
  CHECK(text_of<usage_error>([&] { give(2); }) == "syncopate: the gradient of layer 2 was given twice in a step");
  CHECK(text_of<usage_error>([&] { scheme.end_step(); }) ==
        "syncopate: end_step was called without the gradient of layers 0, 1");
  give(0);
  CHECK(text_of<usage_error>([&] { scheme.end_step(); }) ==
        "syncopate: end_step was called without the gradient of layer 1");
  CHECK(text_of<layout_error>([&] { scheme.gradient_ready(1, gradients[0]); }) ==
        "syncopate: gradients of tensor 2 have 6 elements of float, but the layout that was agreed at construction has "
        "2 elements of float");
  CHECK(text_of<layout_error>([&] {
          scheme.gradient_ready(1, layer{{1, 1}, {1, 1}});
        }) ==
        "syncopate: there are more gradients of layer 1 than the 1 tensor of the layout that was agreed at "
        "construction");
  CHECK(text_of<layout_error>([&] { scheme.gradient_ready(1, layer{}); }) ==
        "syncopate: there are gradients of layer 1 of only 0 of the 1 tensor of the layout that was agreed at "
        "construction");
  CHECK(text_of<layout_error>([&] { scheme.gradient_ready(1, weights[1]); }) ==
        "syncopate: gradient of tensor 2 and weights of tensor 2 share memory: weights must overlap neither gradients "
        "nor each other");
  give(1);
  scheme.end_step();

  scheme.begin_step(weights);
  scheme.before_forward(0);
  CHECK(text_of<usage_error>([&] { give(1); }) ==
        "syncopate: the gradient of layer 1 was computed at stale weights: before_forward was not called for it since "
        "the step before");
  for (const std::size_t i : {1u, 2u}) scheme.before_forward(i);
  CHECK(weights == three_layers(-1));
  for (const std::size_t i : {1u, 2u, 0u}) give(i);
  scheme.end_step();
  scheme.finish(weights);
  CHECK(weights == three_layers(-2));
  CHECK(scheme.statistics().steps == 2);

  CHECK(text_of<usage_error>([&] { scheme.before_forward(0); }) ==
        "syncopate: before_forward was called after finish: make a new scheme to go on training");
}

TEST_CASE("Optional layers have to exist", "[engine][layers]") {
  model weights = three_layers(0);
  CHECK(text_of<configuration_error>([&] {
          make_scheme(weights, {.optional_layers = {2, 3}});
        }) == "syncopate: layer 3 is to be optional, but there are 3 layers");
}

TEST_CASE("Ranks have to agree on optional layers", "[engine][layers]") {
  const auto outcomes = support::on_ranks(2, [](thread_communicator communicator) {
    model weights = three_layers(0);
    const auto layer = static_cast<std::size_t>(communicator.rank());
    return text_of<configuration_error>(
        [&] { synchronous_sgd(weights, communicator, sgd{}, scheme_options{.optional_layers = {layer}}); });
  });
  CHECK(outcomes[0] == outcomes[1]);
  CHECK(outcomes[0].find("1 optional layers") != std::string::npos);
}

TEST_CASE("A tensor is one layer, and a tuple has as many as elements", "[engine][layers]") {
  std::vector<float> alone(3), gradient(3, 1);
  auto scheme = synchronous_sgd(alone, loopback{}, sgd{.learning_rate = 1});
  scheme.begin_step(alone);
  scheme.gradient_ready(0, gradient);
  scheme.end_step();
  scheme.before_forward(0);
  CHECK(alone == std::vector<float>(3, -1));

  // Floats and doubles travel apart, but leave in the order of layers.
  std::vector<double> first(4), last(3);
  std::pair<std::vector<float>, std::vector<double>> middle{std::vector<float>(2), std::vector<double>(1)};
  auto mixed = std::tie(first, middle, last);
  auto other = synchronous_sgd(mixed, loopback{}, sgd{.learning_rate = 1}, scheme_options{.bucket_bytes = 0});
  const std::pair<std::vector<float>, std::vector<double>> middle_gradient{std::vector<float>(2, 2.f),
                                                                           std::vector<double>(1, 3.)};
  other.begin_step(mixed);
  other.gradient_ready(2, std::vector<double>(3, 1.));
  CHECK(text_of<layout_error>([&] { other.gradient_ready(0, std::vector<float>(4)); }) ==
        "syncopate: gradients of tensor 0 have 4 elements of float, but the layout that was agreed at construction has "
        "4 elements of double");
  other.gradient_ready(1, middle_gradient);
  const std::vector<double> first_gradient(4, 4.);
  other.gradient_ready(0, first_gradient);
  other.end_step();
  for (const std::size_t i : {0u, 1u, 2u}) other.before_forward(i);
  CHECK(first == std::vector<double>(4, -4));
  CHECK(middle.first == std::vector<float>(2, -2));
  CHECK(middle.second == std::vector<double>(1, -3));
  CHECK(last == std::vector<double>(3, -1));
}

TEST_CASE("Messages leave while backward is still under way, in its order", "[engine][layers]") {
  const auto launched = support::on_ranks(2, [](thread_communicator communicator) {
    model weights = three_layers(0), gradients = three_layers(1);
    auto scheme = synchronous_sgd(weights, communicator, sgd{.learning_rate = 1}, scheme_options{.bucket_bytes = 0});
    std::vector<std::size_t> bytes;
    scheme.begin_step(weights);
    for (const std::size_t i : {1u, 2u, 0u}) {
      scheme.gradient_ready(i, gradients[i]);
      bytes.push_back(scheme.statistics().bytes);
    }
    scheme.end_step();
    bytes.push_back(scheme.statistics().bytes);
    scheme.finish(weights);
    return bytes;
  });
  constexpr std::size_t header = 2 * detail::header_elements;
  const std::vector<std::size_t> expected{0, 4 * (4 + 2 + 2 + 3 * header), 4 * (16 + 5 * header),
                                          4 * (16 + 5 * header)};
  for (const auto& bytes : launched) CHECK(bytes == expected);
}

TEST_CASE("A gradient that is not finite is refused, or skipped, layer by layer as well", "[engine][layers]") {
  const bool refuses = GENERATE(true, false);
  const std::size_t bad_layer = GENERATE(0u, 1u, 2u);
  const auto texts = support::on_ranks(2, [&](thread_communicator communicator) {
    model weights = three_layers(0), gradients = three_layers(1);
    auto scheme = synchronous_sgd(
        weights, communicator, sgd{.learning_rate = 1},
        scheme_options{.bucket_bytes = 0, .non_finite_gradients = refuses ? non_finite::refuse : non_finite::skip});
    if (communicator.rank() == 1) gradients[bad_layer][0][1] = std::numeric_limits<float>::infinity();
    scheme.begin_step(weights);
    for (const std::size_t i : {2u, 1u, 0u}) scheme.gradient_ready(i, gradients[i]);
    scheme.end_step();
    std::string text = text_of<non_finite_error>([&] { scheme.before_forward(0); });
    for (const std::size_t i : {0u, 1u, 2u}) scheme.before_forward(i);
    if (weights != three_layers(0)) text += "weights have changed";
    scheme.begin_step(weights);
    gradients = three_layers(2);
    for (const std::size_t i : {2u, 1u, 0u}) scheme.gradient_ready(i, gradients[i]);
    scheme.end_step();
    scheme.finish(weights);
    if (weights != three_layers(-2)) text += "training did not go on";
    return text;
  });
  // Buckets: 2's vector, its matrix, 1's vector, 0's vector, its matrix.
  const std::string bucket = bad_layer == 2 ? "1" : bad_layer == 1 ? "2" : "4";
  for (const std::string& text : texts)
    CHECK(text == (refuses ? "syncopate: what rank 1 contributed to step 0 (bucket " + bucket + " of 5) is not finite"
                           : "(nothing was thrown)"));
}
