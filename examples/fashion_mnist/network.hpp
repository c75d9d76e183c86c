#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <tuple>
#include <vector>
#include <xtensor-blas/xblas.hpp>

#include "data.hpp"
#include "xtensor.hpp"

namespace fashion_mnist {

template <class T>
using matrix = xt::xtensor<T, 2>;
template <class T>
using vector = xt::xtensor<T, 1>;

/// Width of the input and of each layer: 784-256-128-10.
inline constexpr std::array<std::size_t, 4> widths = {pixels, 256, 128, classes};
inline constexpr std::size_t layers = widths.size() - 1;

/// The network's weights, or their gradients: for each layer a weight matrix (inputs x outputs) and a bias.
template <class T>
using parameters = std::vector<std::tuple<matrix<T>, vector<T>>>;

template <class T>
parameters<T> zero_parameters() {
  parameters<T> zeros;
  for (std::size_t l = 0; l < layers; ++l)
    zeros.emplace_back(xt::zeros<T>({widths[l], widths[l + 1]}), xt::zeros<T>({widths[l + 1]}));
  return zeros;
}

/// Weights uniform with variance 1 / inputs (LeCun et al., Efficient BackProp, 1998); biases start at zero. Equal on
/// every rank that has the seed. He's initialisation has twice that variance: at the learning rates used here training
/// then starts with a loss that grows, which delayed schemes do not survive.
template <class T>
parameters<T> initial_parameters(std::uint64_t seed) {
  parameters<T> initial = zero_parameters<T>();
  std::mt19937_64 random(seed);
  for (auto& [weight, bias] : initial) {
    const double most = std::sqrt(3. / static_cast<double>(weight.shape(0)));
    std::uniform_real_distribution<double> uniform(-most, most);
    for (T& w : weight) w = static_cast<T>(uniform(random));
  }
  return initial;
}

/// Watches a network's way through its layers, and does nothing.
struct nobody {
  void before_forward(std::size_t /*layer*/) {}
  void gradient_ready(std::size_t /*layer*/) {}
  void poll() {}
};

/// A multi-layer perceptron with ReLU and softmax cross-entropy. It holds what one mini-batch needs on its way through
/// the layers, made once: no step allocates.
template <class T>
class network {
 public:
  explicit network(std::size_t batch) : ones_(xt::ones<T>({batch})), labels_(batch) {
    for (std::size_t width : widths) activations_.push_back(xt::zeros<T>({batch, width}));
    errors_ = activations_;
  }

  std::size_t batch() const { return labels_.size(); }

  /// Takes the samples of these numbers as the mini-batch, with pixels in units of full brightness, less the training
  /// set's mean. At most `batch()` of them; missing ones leave rows as they are.
  ///
  /// Divided by their deviation, too, pixels would be three times as large, the loss eight times as curved along
  /// the first layer's weights, and the same learning rate nearer to where training with late gradients is unstable.
  void load(const data_set& data, std::span<const std::uint32_t> samples) {
    constexpr T mean = T(0.2860), scale = T(1) / 255;
    for (std::size_t i = 0; i < samples.size(); ++i) {
      labels_[i] = data.labels[samples[i]];
      const std::uint8_t* image = &data.images(samples[i], 0);
      T* row = &activations_[0](i, 0);
      for (std::size_t j = 0; j < pixels; ++j) row[j] = scale * static_cast<T>(image[j]) - mean;
    }
  }

  /// Mean loss of the loaded mini-batch, and its gradient, which is overwritten. Calls `on.before_forward(layer)`
  /// before it reads a layer's weights, `on.gradient_ready(layer)` once that layer's gradient is there (its weights are
  /// read once more after that), and `on.poll()` after each product of matrices, so that communication can progress.
  template <class Watcher>
  double loss_and_gradient(const parameters<T>& weights, parameters<T>& gradients, Watcher&& on) {
    forward(weights, on);
    const double loss = softmax_cross_entropy();
    for (std::size_t l = layers; l-- > 0;) {
      auto& [weight_gradient, bias_gradient] = gradients[l];
      xt::blas::gemm(activations_[l], errors_[l + 1], weight_gradient, true, false);
      on.poll();
      // The sum of the errors' rows.
      xt::blas::gemv(errors_[l + 1], ones_, bias_gradient, true);
      on.gradient_ready(l);
      if (l == 0) break;
      xt::blas::gemm(errors_[l + 1], std::get<0>(weights[l]), errors_[l], false, true);
      on.poll();
      T* error = errors_[l].data();
      const T* activation = activations_[l].data();
      for (std::size_t i = 0; i < errors_[l].size(); ++i) error[i] = activation[i] > 0 ? error[i] : T(0);
    }
    return loss;
  }

  /// How many of the first `count` loaded samples are classified rightly. A network whose weights are not finite any
  /// more classifies none rightly.
  std::size_t correct(const parameters<T>& weights, std::size_t count) {
    forward(weights, nobody{});
    std::size_t right = 0;
    for (std::size_t i = 0; i < count; ++i) {
      const std::span<const T> row(&activations_.back()(i, 0), classes);
      const T own = row[labels_[i]];
      right += std::ranges::count_if(row, [own](T other) { return own > other; }) == classes - 1;
    }
    return right;
  }

 private:
  template <class Watcher>
  void forward(const parameters<T>& weights, Watcher&& on) {
    for (std::size_t l = 0; l < layers; ++l) {
      on.before_forward(l);
      const auto& [weight, bias] = weights[l];
      auto& out = activations_[l + 1];
      xt::blas::gemm(activations_[l], weight, out);
      on.poll();
      // Row by row: xtensor would broadcast the bias several times slower.
      for (std::size_t i = 0; i < batch(); ++i) {
        auto row = xt::row(out, static_cast<std::ptrdiff_t>(i));
        if (l + 1 < layers)
          xt::noalias(row) = xt::maximum(row + bias, T(0));
        else
          xt::noalias(row) = row + bias;
      }
    }
  }

  /// Mean loss; leaves its derivative, (softmax - one at the label) / batch, in the last layer's errors.
  double softmax_cross_entropy() {
    double loss = 0;
    for (std::size_t i = 0; i < batch(); ++i) {
      const std::span<const T> in(&activations_.back()(i, 0), classes);
      const std::span<T> out(&errors_.back()(i, 0), classes);
      const T most = *std::ranges::max_element(in);
      T sum = 0;
      for (std::size_t j = 0; j < classes; ++j) sum += out[j] = std::exp(in[j] - most);
      loss += static_cast<double>(std::log(sum) - (in[labels_[i]] - most));
      for (T& o : out) o /= sum * static_cast<T>(batch());
      out[labels_[i]] -= 1 / static_cast<T>(batch());
    }
    return loss / static_cast<double>(batch());
  }

  std::vector<matrix<T>> activations_, errors_;
  vector<T> ones_;
  std::vector<std::uint8_t> labels_;
};

}  // namespace fashion_mnist
