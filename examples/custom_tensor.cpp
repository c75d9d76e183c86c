// Tensors of a class of one's own. The library wants to know one thing of it: where its elements are.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <random>
#include <span>
#include <syncopate/communicators/thread_team.hpp>
#include <syncopate/syncopate.hpp>
#include <tuple>
#include <vector>

namespace my {

/// A matrix as it might exist in a program already. It is no range: it has neither begin() nor end().
class matrix {
 public:
  matrix(std::size_t rows, std::size_t columns) : rows_(rows), columns_(columns), elements_(rows * columns) {}

  std::size_t rows() const { return rows_; }
  std::size_t columns() const { return columns_; }
  float& operator()(std::size_t row, std::size_t column) { return elements_[row * columns_ + column]; }
  float operator()(std::size_t row, std::size_t column) const { return elements_[row * columns_ + column]; }
  float* data() { return elements_.data(); }
  const float* data() const { return elements_.data(); }

 private:
  std::size_t rows_, columns_;
  std::vector<float> elements_;
};

}  // namespace my

template <>
struct syncopate::tensor_traits<my::matrix> {
  static std::span<float> elements(my::matrix& m) { return {m.data(), m.rows() * m.columns()}; }
  static std::span<const float> elements(const my::matrix& m) { return {m.data(), m.rows() * m.columns()}; }
};

int main() {
  // y = A x + b with A(i, j) = i − j and b(i) = i, learnt by two ranks from examples drawn at random.
  constexpr std::size_t outputs = 2, inputs = 3, batch = 8;
  float error = 0;
  syncopate::thread_team{2}.run([&](syncopate::thread_communicator communicator) {
    std::mt19937 random(static_cast<unsigned>(communicator.rank()));
    std::normal_distribution<float> normal;
    my::matrix a(outputs, inputs), gradient_of_a(outputs, inputs);
    std::vector<float> b(outputs), gradient_of_b(outputs);

    // A model is a tensor, a range of models, or a tuple of models of different types.
    const auto weights = std::tie(a, b);
    auto scheme = syncopate::od_sgd(weights, communicator, syncopate::sgd{.learning_rate = 0.1}, 20);
    for (int step = 0; step < 1000; ++step) {
      gradient_of_a = my::matrix(outputs, inputs);
      gradient_of_b.assign(outputs, 0);
      for (std::size_t example = 0; example < batch; ++example) {
        const float x[inputs] = {normal(random), normal(random), normal(random)};
        for (std::size_t i = 0; i < outputs; ++i) {
          float residual = b[i] - float(i);
          for (std::size_t j = 0; j < inputs; ++j) residual += (a(i, j) - (float(i) - float(j))) * x[j];
          for (std::size_t j = 0; j < inputs; ++j) gradient_of_a(i, j) += residual * x[j] / batch;
          gradient_of_b[i] += residual / batch;
        }
      }
      scheme.step(weights, std::tie(gradient_of_a, gradient_of_b));
    }
    scheme.finish(weights);
    if (communicator.rank() > 0) return;
    for (std::size_t i = 0; i < outputs; ++i) {
      error = std::max(error, std::abs(b[i] - float(i)));
      for (std::size_t j = 0; j < inputs; ++j) error = std::max(error, std::abs(a(i, j) - (float(i) - float(j))));
    }
  });
  std::printf("largest error of a weight: %g\n", error);
  return error < 1e-4f ? 0 : 1;
}
