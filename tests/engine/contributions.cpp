// What ranks hand in that differs from rank to rank, or from step to step.
#include <catch2/catch.hpp>
#include <cstddef>
#include <cstdint>
#include <string>
#include <syncopate/syncopate.hpp>
#include <utility>
#include <vector>

#include "../support/ranks.hpp"
#include "../support/training.hpp"

using namespace syncopate;
using support::any_communicator;
using support::model;

TEST_CASE("A tensor without a gradient on one rank counts as zero there, and the others apply", "[engine][samples]") {
  const auto found = support::on_ranks(2, [](thread_communicator communicator) {
    model<double> weights{{1, 1}, {}, {1}};
    const bool all = communicator.rank() == 0;
    const model<double> gradients{{4, 4}, {}, {all ? 8.0 : 0.0}};
    auto scheme =
        compiled::synchronous_sgd<model<double>>(sgd{.learning_rate = 1})(weights, any_communicator(communicator));
    scheme.step(weights, gradients);
    return weights;
  });
  for (const auto& weights : found) CHECK(weights == model<double>{{-3, -3}, {}, {-3}});
}

TEST_CASE("However large batches grow, the same bytes travel", "[engine][samples]") {
  const auto found = support::on_ranks(2, [](thread_communicator communicator) {
    model<double> weights{{0, 0, 0}};
    auto scheme = compiled::lookahead_sgd<model<double>>(sgd{.learning_rate = 1}, local_gradient{}, 1)(
        weights, any_communicator(communicator));
    std::vector<std::uint64_t> bytes;
    double samples = 1, all = 0;
    for (int step = 0; step < 20; ++step, samples *= 2) {
      // Rank 0 has 3/4 of the samples, and is the only one with a gradient: a mean of 3/4.
      const double own = communicator.rank() == 0 ? 1 : 0;
      scheme.step(weights, model<double>{{own, own, own}}, communicator.rank() == 0 ? 3 * samples : samples);
      all += 0.75;
      bytes.push_back(scheme.statistics().bytes);
    }
    scheme.finish(weights);
    bool even = true;
    for (std::size_t step = 0; step < bytes.size(); ++step) even = even && bytes[step] == (step + 1) * bytes[0];
    return std::pair(even, weights[0][0] + all);
  });
  for (const auto& rank : found) CHECK(rank == std::pair(true, 0.0));
}

TEST_CASE("Tensors that one rank registers in another order are an error on all ranks", "[engine][agreement]") {
  // As from a dictionary, whose order is each process's own affair.
  const auto texts = support::on_ranks(3, [](thread_communicator communicator) {
    model<float> weights{std::vector<float>(5), std::vector<float>(2), std::vector<float>(7)};
    if (communicator.rank() == 1) std::swap(weights[0], weights[2]);
    return support::outcome_of(
               [&] { compiled::synchronous_sgd<model<float>>(sgd{})(weights, any_communicator(communicator)); })
        .text;
  });
  CHECK(texts == std::vector<std::string>(3,
                                          "syncopate: ranks have different layouts, first at tensor 0: ranks 0, 2: 5 "
                                          "elements of float; rank 1: 7 elements of float"));
}

TEST_CASE("Ranks that resume at different steps are told so, and which", "[engine][checkpoint]") {
  const auto texts = support::on_ranks(3, [](thread_communicator communicator) {
    model<float> weights{{1, 2}}, gradients = weights;
    const auto make = compiled::dasgd<model<float>>(sgd{.learning_rate = 0.125, .momentum = 0.5});
    auto scheme = make(weights, any_communicator(communicator));
    std::vector<std::string> saved;
    for (int step = 0; step < 3; ++step) {
      saved.push_back(scheme.save(weights));
      scheme.step(weights, gradients);
    }
    auto resumed = make(weights, any_communicator(communicator));
    return support::outcome_of([&] { resumed.load(saved[communicator.rank() == 1 ? 1 : 2], weights); }).text;
  });
  CHECK(texts == std::vector<std::string>(
                     3, "syncopate: ranks' checkpoints are of different steps: ranks 0, 2: step 2; rank 1: step 1"));
}
