// Law 12: save in any phase, load, continue: bitwise the uninterrupted run.
#include <catch2/catch.hpp>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "../support/every_scheme.hpp"
#include "../support/training.hpp"

namespace {

using namespace support;

constexpr int steps = 11;

/// Weights after each step and after `finish`. After `interrupted` steps training is saved, and goes on with a new
/// scheme on a channel of its own and weights that were something else before.
template <class T>
std::vector<record> run(const rank_group& ranks, const training_data& data, const maker<model<T>>& make,
                        int interrupted) {
  return ranks.run([&](any_communicator communicator) {
    const auto rank = static_cast<std::size_t>(communicator.rank());
    model<T> weights = model_of<T>(data, data.start);
    record noted;
    auto scheme = make(weights, communicator.duplicate());
    for (int step = 0; step <= steps; ++step) {
      if (step == interrupted) {
        const std::string checkpoint = scheme.save(weights);
        weights = model_of<T>(data, std::vector<double>(data.start.size(), 7.0));
        auto resumed = make(weights, communicator.duplicate());
        resumed.load(checkpoint, weights);
        scheme = std::move(resumed);
      }
      if (step == steps) break;
      scheme.step(weights, model_of<T>(data, data.gradients[rank][static_cast<std::size_t>(step)]), data.samples[rank]);
      append(noted, weights);
    }
    scheme.finish(weights);
    append(noted, weights);
    const auto taken = scheme.statistics();
    noted.push_back(static_cast<double>(taken.steps));
    noted.push_back(static_cast<double>(taken.launched));
    noted.push_back(static_cast<double>(taken.absorbed));
    return noted;
  });
}

TEMPLATE_TEST_CASE("Training that was saved goes on as if it had not been interrupted", "[laws][resume]", float,
                   double) {
  for (const rank_group& ranks : every_communicator()) {
    const auto data = rough_data({1, 17, 700}, steps, uneven(ranks.size));
    for (const auto& [name, make] : every_scheme<model<TestType>>()) {
      const auto expected = run<TestType>(ranks, data, make, -1);
      for (int interrupted = 0; interrupted <= steps; ++interrupted) {
        INFO(ranks.name << ", " << name << ", saved after " << interrupted << " steps");
        const auto got = run<TestType>(ranks, data, make, interrupted);
        for (std::size_t rank = 0; rank < got.size(); ++rank) CHECK(same_bits(got[rank], expected[rank]));
      }
    }
  }
}

}  // namespace
