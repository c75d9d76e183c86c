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
#include <xtensor/xadapt.hpp>

#include "data.hpp"
#include "xtensor.hpp"

namespace fashion_mnist {

template <class T>
using matrix = xt::xtensor<T, 2>;
template <class T>
using vector = xt::xtensor<T, 1>;

/// One layer: fully connected, or a convolution. What comes in are images of `height` x `width` x `channels`, pixel by
/// pixel, of which a fully connected layer sees one row of numbers.
struct layer_shape {
  std::size_t height, width, channels;
  std::size_t outputs;     ///< channels that go out
  std::size_t kernel = 0;  ///< edge of the square that a convolution sees; 0: it is none
  std::size_t stride = 1, padding = 0;

  bool convolves() const { return kernel > 0; }
  std::size_t out_height() const { return convolves() ? (height + 2 * padding - kernel) / stride + 1 : 1; }
  std::size_t out_width() const { return convolves() ? (width + 2 * padding - kernel) / stride + 1 : 1; }
  std::size_t positions() const { return out_height() * out_width(); }
  /// Rows of the weight matrix: numbers that one output depends on.
  std::size_t inputs() const { return convolves() ? kernel * kernel * channels : height * width * channels; }
};

using architecture = std::vector<layer_shape>;

/// 784-256-128-10, fully connected.
inline architecture multi_layer_perceptron() { return {{28, 28, 1, 256}, {1, 1, 256, 128}, {1, 1, 128, classes}}; }

/// Two convolutions that halve the image's edges, and two fully connected layers.
inline architecture convolutional_network() {
  return {{28, 28, 1, 16, 5, 2, 2}, {14, 14, 16, 32, 3, 2, 1}, {7, 7, 32, 128}, {1, 1, 128, classes}};
}

/// The network's weights, or their gradients: for each layer a weight matrix (inputs x outputs) and a bias.
template <class T>
using parameters = std::vector<std::tuple<matrix<T>, vector<T>>>;

template <class T>
parameters<T> zero_parameters(const architecture& layers) {
  parameters<T> zeros;
  for (const layer_shape& l : layers)
    zeros.emplace_back(xt::zeros<T>({l.inputs(), l.outputs}), xt::zeros<T>({l.outputs}));
  return zeros;
}

/// Weights uniform with variance 1 / inputs (LeCun et al., Efficient BackProp, 1998); biases start at zero. Equal on
/// every rank that has the seed. He's initialisation has twice that variance: at the learning rates used here training
/// then starts with a loss that grows, which delayed schemes do not survive.
template <class T>
parameters<T> initial_parameters(const architecture& layers, std::uint64_t seed) {
  parameters<T> initial = zero_parameters<T>(layers);
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
  bool takes_factors(std::size_t /*layer*/) { return false; }
  template <class T>
  void factors_ready(std::size_t /*layer*/, std::span<const T> /*activations*/, std::span<const T> /*errors*/) {}
  void gradient_ready(std::size_t /*layer*/) {}
  void poll() {}
};

/// A network with ReLU and softmax cross-entropy. Convolutions are products of matrices, too, of what each position
/// sees, row by row. It holds what one mini-batch needs on its way through the layers, made once: no step allocates.
template <class T>
class network {
 public:
  network(const architecture& layers, std::size_t batch) : layers_(layers), labels_(batch) {
    std::size_t most_rows = batch;
    activations_.push_back(xt::zeros<T>({batch, pixels}));
    for (const layer_shape& l : layers_) {
      const std::size_t rows = batch * l.positions();
      activations_.push_back(xt::zeros<T>({rows, l.outputs}));
      seen_.push_back(l.convolves() ? xt::zeros<T>({rows, l.inputs()}) : xt::zeros<T>({0, 0}));
      most_rows = std::max(most_rows, rows);
    }
    errors_ = activations_;
    ones_ = xt::ones<T>({most_rows});
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
  /// read once more after that), or, if `on.takes_factors(layer)`, `on.factors_ready(layer, activations, errors)` in
  /// place of forming it, and `on.poll()` after each product of matrices, so that communication can progress.
  template <class Watcher>
  double loss_and_gradient(const parameters<T>& weights, parameters<T>& gradients, Watcher&& on) {
    forward(weights, on);
    const double loss = softmax_cross_entropy();
    for (std::size_t l = layers_.size(); l-- > 0;) {
      auto& [weight_gradient, bias_gradient] = gradients[l];
      matrix<T>& error = errors_[l + 1];
      const auto in = input_of(l);
      if (on.takes_factors(l)) {
        on.factors_ready(l, std::span<const T>(in.data(), in.size()), std::span<const T>(error.data(), error.size()));
      } else {
        xt::blas::gemm(in, error, weight_gradient, true, false);
        on.poll();
        // The sum of the errors' rows.
        const auto ones = xt::adapt(ones_.data(), error.shape(0), xt::no_ownership(), std::array{error.shape(0)});
        xt::blas::gemv(error, ones, bias_gradient, true);
        on.gradient_ready(l);
      }
      if (l == 0) break;
      auto in_error = layers_[l].convolves() ? view(seen_[l], in.shape(0), in.shape(1))
                                             : view(errors_[l], in.shape(0), in.shape(1));
      xt::blas::gemm(error, std::get<0>(weights[l]), in_error, false, true);
      on.poll();
      if (layers_[l].convolves()) spread(l);
      T* out = errors_[l].data();
      const T* activation = activations_[l].data();
      for (std::size_t i = 0; i < errors_[l].size(); ++i) out[i] = activation[i] > 0 ? out[i] : T(0);
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
  static auto view(matrix<T>& elements, std::size_t rows, std::size_t columns) {
    return xt::adapt(elements.data(), rows * columns, xt::no_ownership(), std::array{rows, columns});
  }

  /// What a layer multiplies with its weights: a row for each sample, or for each position of each sample.
  auto input_of(std::size_t l) {
    const layer_shape& shape = layers_[l];
    return view(shape.convolves() ? seen_[l] : activations_[l], batch() * shape.positions(), shape.inputs());
  }

  /// Calls `visit(pixel, place)` for each number that each position sees: where it is in the images, and in the rows.
  /// What lies beyond an edge is left out.
  template <class Visitor>
  void for_each_seen(std::size_t l, Visitor visit) const {
    const layer_shape& s = layers_[l];
    std::size_t row = 0;
    for (std::size_t sample = 0; sample < batch(); ++sample)
      for (std::size_t y = 0; y < s.out_height(); ++y)
        for (std::size_t x = 0; x < s.out_width(); ++x, row += s.inputs())
          for (std::size_t v = 0; v < s.kernel; ++v)
            for (std::size_t u = 0; u < s.kernel; ++u) {
              const std::size_t down = y * s.stride + v, right = x * s.stride + u;
              if (down < s.padding || down >= s.height + s.padding || right < s.padding || right >= s.width + s.padding)
                continue;
              const std::size_t pixel = (sample * s.height + down - s.padding) * s.width + right - s.padding;
              const std::size_t place = row + (v * s.kernel + u) * s.channels;
              for (std::size_t c = 0; c < s.channels; ++c) visit(pixel * s.channels + c, place + c);
            }
  }

  /// What each position sees. What lies beyond an edge is zero.
  void collect(std::size_t l) {
    seen_[l].fill(T(0));
    const T* in = activations_[l].data();
    T* rows = seen_[l].data();
    for_each_seen(l, [=](std::size_t pixel, std::size_t place) { rows[place] = in[pixel]; });
  }

  /// The errors of what each position saw, back to where that came from.
  void spread(std::size_t l) {
    errors_[l].fill(T(0));
    const T* rows = seen_[l].data();
    T* out = errors_[l].data();
    for_each_seen(l, [=](std::size_t pixel, std::size_t place) { out[pixel] += rows[place]; });
  }

  template <class Watcher>
  void forward(const parameters<T>& weights, Watcher&& on) {
    for (std::size_t l = 0; l < layers_.size(); ++l) {
      on.before_forward(l);
      const auto& [weight, bias] = weights[l];
      auto& out = activations_[l + 1];
      if (layers_[l].convolves()) collect(l);
      xt::blas::gemm(input_of(l), weight, out);
      on.poll();
      // Row by row: xtensor would broadcast the bias several times slower.
      for (std::size_t i = 0; i < out.shape(0); ++i) {
        auto row = xt::row(out, static_cast<std::ptrdiff_t>(i));
        if (l + 1 < layers_.size())
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

  architecture layers_;
  std::vector<matrix<T>> activations_, errors_;
  std::vector<matrix<T>> seen_;  ///< by each position of a convolution; in backward, its errors
  vector<T> ones_;
  std::vector<std::uint8_t> labels_;
};

}  // namespace fashion_mnist
