// Weights that are Eigen's matrices, of any storage order: include the adaptor, and go on as before.
#include <Eigen/Core>
#include <algorithm>
#include <cstdio>
#include <random>
#include <syncopate/adaptors/eigen.hpp>
#include <syncopate/communicators/thread_team.hpp>
#include <syncopate/syncopate.hpp>
#include <tuple>

int main() {
  // y = A x + b, learnt by two ranks, each from examples of its own.
  constexpr int outputs = 2, inputs = 3, examples = 64;
  const Eigen::MatrixXf a{{1, 2, 3}, {-3, -2, -1}};
  const Eigen::VectorXf b{{5, -5}};
  float error = 0;
  syncopate::thread_team{2}.run([&](syncopate::thread_communicator communicator) {
    std::mt19937 random(static_cast<unsigned>(communicator.rank()));
    std::normal_distribution<float> normal;
    const Eigen::MatrixXf x = Eigen::MatrixXf::NullaryExpr(inputs, examples, [&] { return normal(random); });
    const Eigen::MatrixXf y = (a * x).colwise() + b;

    Eigen::MatrixXf w = Eigen::MatrixXf::Zero(outputs, inputs), gradient_of_w;
    Eigen::VectorXf c = Eigen::VectorXf::Zero(outputs), gradient_of_c;
    const auto weights = std::tie(w, c);
    auto scheme =
        syncopate::lookahead_sgd(weights, communicator, syncopate::sgd{.learning_rate = 0.1, .momentum = 0.5});
    for (int step = 0; step < 300; ++step) {
      const Eigen::MatrixXf residual = ((w * x).colwise() + c) - y;
      // Into matrices: an expression such as `residual * x.transpose()` has no elements in memory to send.
      gradient_of_w = residual * x.transpose() / examples;
      gradient_of_c = residual.rowwise().mean();
      scheme.step(weights, std::tie(gradient_of_w, gradient_of_c));
    }
    scheme.finish(weights);
    if (communicator.rank() == 0) error = std::max((w - a).cwiseAbs().maxCoeff(), (c - b).cwiseAbs().maxCoeff());
  });
  std::printf("largest error of a weight: %g\n", error);
  return error < 1e-4f ? 0 : 1;
}
