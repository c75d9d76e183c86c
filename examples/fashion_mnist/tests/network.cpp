/// The gradient against finite differences, and what a share of the training set consists of.

#include "../network.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include "../shuffled_share.hpp"
#include "syncopate/adaptors/xtensor.hpp"
#include "syncopate/tensor.hpp"

using namespace fashion_mnist;

namespace {

/// Noise for images; each label occurs.
data_set noise(std::size_t count) {
  std::mt19937_64 random(7);
  data_set data{.images = xt::xtensor<std::uint8_t, 2>::from_shape({count, pixels}),
                .labels = std::vector<std::uint8_t>(count)};
  for (auto& pixel : data.images) pixel = static_cast<std::uint8_t>(random() % 256);
  for (std::size_t i = 0; i < count; ++i) data.labels[i] = static_cast<std::uint8_t>(i % classes);
  return data;
}

}  // namespace

TEST_CASE("the gradient is the derivative of the loss") {
  const architecture layers = GENERATE(multi_layer_perceptron(), convolutional_network());
  const data_set data = noise(12);
  std::vector<std::uint32_t> samples(data.size());
  std::iota(samples.begin(), samples.end(), 0U);
  network<double> net(layers, data.size());
  net.load(data, samples);
  auto weights = initial_parameters<double>(layers, 3);
  for (auto& [weight, bias] : weights) bias += 0.05;
  auto gradients = zero_parameters<double>(layers), unused = gradients;
  net.loss_and_gradient(weights, gradients, nobody{});

  // Central differences: the error is of the order h² plus rounding of the loss / h, 1e-10 for h = 1e-6. A kink of a
  // ReLU within h of some activation would spoil it; with this seed there is none among the parameters looked at.
  const double h = 1e-6;
  for (std::size_t layer = 0; layer < layers.size(); ++layer) {
    const auto check = [&](auto& weight, const auto& gradient) {
      REQUIRE(std::ranges::any_of(gradient, [](double g) { return std::abs(g) > 1e-3; }));
      for (std::size_t i = 0; i < weight.size(); i += 1 + weight.size() / 37) {
        const double before = weight.data()[i];
        weight.data()[i] = before + h;
        const double above = net.loss_and_gradient(weights, unused, nobody{});
        weight.data()[i] = before - h;
        const double below = net.loss_and_gradient(weights, unused, nobody{});
        weight.data()[i] = before;
        INFO("layer " << layer << ", parameter " << i);
        CHECK(gradient.data()[i] == Approx((above - below) / (2 * h)).margin(1e-8).epsilon(1e-6));
      }
    };
    check(std::get<0>(weights[layer]), std::get<0>(gradients[layer]));
    check(std::get<1>(weights[layer]), std::get<1>(gradients[layer]));
  }
}

TEST_CASE("a network that knows nothing loses log 10, and each product of matrices is polled") {
  const data_set data = noise(10);
  const std::vector<std::uint32_t> samples = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
  network<float> net(multi_layer_perceptron(), 10);
  net.load(data, samples);
  auto weights = zero_parameters<float>(multi_layer_perceptron()), gradients = weights;
  struct {
    std::string calls;
    int polls = 0;
    void before_forward(std::size_t layer) { calls += "f" + std::to_string(layer); }
    bool takes_factors(std::size_t layer) { return layer == 1; }
    void factors_ready(std::size_t layer, std::span<const float> activations, std::span<const float> errors) {
      calls += "x" + std::to_string(layer);
      CHECK(activations.size() == 10 * 256);
      CHECK(errors.size() == 10 * 128);
    }
    void gradient_ready(std::size_t layer) { calls += "g" + std::to_string(layer); }
    void poll() { ++polls; }
  } seen;
  CHECK(net.loss_and_gradient(weights, gradients, seen) == Approx(std::log(10)).epsilon(1e-6));
  CHECK(seen.calls == "f0f1f2g2x1g0");
  CHECK(seen.polls == 7);
  CHECK(net.correct(weights, 10) == 0);  // a draw is no answer

  std::get<1>(weights.back())(3) = 1;  // now it always answers 3
  CHECK(net.correct(weights, 10) == 1);
  CHECK(net.correct(weights, 3) == 0);
  std::get<1>(weights.back())(3) = std::nanf("");
  CHECK(net.correct(weights, 10) == 0);
}

TEST_CASE("a convolution sees what is around a position, and nothing beyond the edges") {
  data_set data = noise(2);
  const architecture layers{{28, 28, 1, 2, 5, 2, 2}, {14, 14, 2, classes}};
  network<double> net(layers, 2);
  net.load(data, std::vector<std::uint32_t>{0, 1});
  auto weights = zero_parameters<double>(layers), gradients = weights;
  for (std::size_t i = 0; i < 25; ++i) std::get<0>(weights[0])(i, 1) = static_cast<double>(i) - 12;
  const std::size_t y = GENERATE(0u, 6u, 13u), x = GENERATE(0u, 13u);
  std::get<0>(weights[1])((y * 14 + x) * 2 + 1, 7) = 1;  // output 7 is that position of the second channel
  double loss = 0;
  for (std::size_t image = 0; image < 2; ++image) {
    double sum = 0;
    for (int v = 0; v < 5; ++v)
      for (int u = 0; u < 5; ++u) {
        const int down = static_cast<int>(2 * y) + v - 2, right = static_cast<int>(2 * x) + u - 2;
        if (down >= 0 && down < 28 && right >= 0 && right < 28)
          sum += (5 * v + u - 12) * (data.images(image, static_cast<std::size_t>(28 * down + right)) / 255. - 0.2860);
      }
    const double out = std::max(0., sum);
    loss += std::log(std::exp(out) + 9) - (data.labels[image] == 7 ? out : 0);
  }
  CHECK(net.loss_and_gradient(weights, gradients, nobody{}) == Approx(loss / 2));
}

TEST_CASE("pixels are centred at the training set's mean, in units of full brightness") {
  data_set data = noise(1);
  data.images.fill(255);
  network<double> net(multi_layer_perceptron(), 1);
  net.load(data, std::vector<std::uint32_t>{0});
  auto weights = zero_parameters<double>(multi_layer_perceptron()), gradients = weights;
  // Pass pixel 5 through one unit of each layer: output 0 is the pixel.
  std::get<0>(weights[0])(5, 0) = std::get<0>(weights[1])(0, 0) = std::get<0>(weights[2])(0, 0) = 1;
  const double x = 1 - 0.2860;
  CHECK(net.loss_and_gradient(weights, gradients, nobody{}) == Approx(std::log(std::exp(x) + 9) - x));
}

TEST_CASE("the seed decides the initial weights, whose variance is 1 / inputs, and biases are zero") {
  const auto weights = initial_parameters<double>(multi_layer_perceptron(), 1);
  CHECK(weights == initial_parameters<double>(multi_layer_perceptron(), 1));
  CHECK(weights != initial_parameters<double>(multi_layer_perceptron(), 2));
  const auto& [weight, bias] = weights.front();
  const double n = static_cast<double>(weight.size());
  double squares = 0;
  for (double w : weight) squares += w * w;
  // The sample variance of n uniform numbers deviates by √(4 / (5 n)) relative; five times that bounds any sane seed.
  CHECK(squares / n == Approx(1.0 / 784).epsilon(5 * std::sqrt(0.8 / n)));
  CHECK(std::ranges::all_of(weight, [](double w) { return std::abs(w) <= std::sqrt(3.0) / 28; }));
  CHECK(std::ranges::all_of(bias, [](double b) { return b == 0; }));
}

TEST_CASE("ranks' shares are disjoint, cover all but the remainder, and are shuffled anew in each epoch") {
  constexpr std::size_t samples = 107, batch = 4;
  constexpr int ranks = 3;
  std::vector<std::uint32_t> epochs[2];
  for (int epoch = 0; epoch < 2; ++epoch) {
    for (int rank = 0; rank < ranks; ++rank) {
      shuffled_share share(samples, rank, ranks, 5);
      share.shuffle(epoch);
      REQUIRE(share.samples_per_epoch(batch) == 96);  // 8 x 12; 11 remain
      std::uint64_t position = 0;
      while (share.has(position, batch))
        for (const auto sample : share.next(position, batch)) epochs[epoch].push_back(sample);
      CHECK(position == 96);
    }
    auto sorted = epochs[epoch];
    std::ranges::sort(sorted);
    CHECK(sorted.size() == 96);
    CHECK(std::ranges::adjacent_find(sorted) == sorted.end());
    CHECK(sorted.back() < samples);
    CHECK(epochs[epoch] != sorted);
  }
  CHECK(epochs[0] != epochs[1]);
}
