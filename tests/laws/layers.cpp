// A step made layer by layer is bitwise the step of the whole model, under every scheme, in whatever order layers come.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "../support/every_scheme.hpp"
#include "../support/training.hpp"

namespace {

using namespace support;

/// Layers in some order: 0 first, or last, or one that differs from step to step and from rank to rank.
enum class order { forward, backward, scrambled };

std::vector<std::size_t> layers_in(order wanted, std::size_t layers, std::size_t step, std::size_t rank) {
  std::vector<std::size_t> numbers(layers);
  std::iota(numbers.begin(), numbers.end(), std::size_t{0});
  if (wanted == order::backward) std::reverse(numbers.begin(), numbers.end());
  if (wanted == order::scrambled)
    std::sort(numbers.begin(), numbers.end(),
              [&](std::size_t a, std::size_t b) { return scrambled(step, rank, a) < scrambled(step, rank, b); });
  return numbers;
}

/// `trajectories`, layer by layer. One number more: how often weights changed that must not.
template <class T>
std::vector<record> layer_by_layer(const rank_group& ranks, const training_data& data, const maker<model<T>>& make,
                                   order backward, order forward) {
  return ranks.run([&](any_communicator communicator) {
    const auto rank = static_cast<std::size_t>(communicator.rank());
    model<T> weights = model_of<T>(data, data.start);
    const std::size_t layers = weights.size();
    record noted;
    int changes = 0;
    auto scheme = make(weights, std::move(communicator));
    for (std::size_t step = 0; step < data.gradients[rank].size(); ++step) {
      model<T> gradients = model_of<T>(data, data.gradients[rank][step]);
      const auto before = weights;
      scheme.begin_step(weights, data.samples[rank]);
      for (const std::size_t layer : layers_in(backward, layers, step, rank)) {
        scheme.gradient_ready(layer, gradients);
        if (step % 2 == 0) scheme.poll();
      }
      changes += weights != before;
      scheme.end_step();
      for (auto& tensor : gradients)  // it is the user's again
        for (T& x : tensor) x = std::numeric_limits<T>::quiet_NaN();
      for (const std::size_t layer : layers_in(forward, layers, step, rank)) {
        scheme.before_forward(layer);
        const auto now = weights[layer];
        scheme.before_forward(layer);
        changes += weights[layer] != now;
      }
      append(noted, weights);
    }
    scheme.finish(weights);
    append(noted, weights);
    noted.push_back(changes);
    return noted;
  });
}

TEMPLATE_TEST_CASE("Layer by layer is bitwise the whole model", "[laws][layers]", float, double) {
  using W = model<TestType>;
  const auto [backward, forward] =
      GENERATE(std::pair{order::backward, order::forward}, std::pair{order::forward, order::backward},
               std::pair{order::scrambled, order::scrambled});
  for (const rank_group& ranks : every_communicator()) {
    const auto data = rough_data({3, 0, 17, 513, 40}, 6, uneven(ranks.size));
    auto schemes = every_scheme<W>();
    for (const std::size_t bucket_bytes : {std::size_t{0}, 60 * sizeof(TestType)})
      for (auto& [name, make] : every_scheme_with<W>({.bucket_bytes = bucket_bytes}))
        schemes.push_back({name + ", buckets of " + std::to_string(bucket_bytes), std::move(make)});
    for (auto& [name, make] : every_scheme_with<W>({.bucket_bytes = 0, .largest_norm = 0.5}))
      if (name != "weights") schemes.push_back({name + ", clipped", std::move(make)});
    for (auto& [name, make] :
         every_scheme_with<W>({.bucket_bytes = 0, .largest_norm = 0.5, .clip = syncopate::clipping::before_averaging}))
      schemes.push_back({name + ", clipped before", std::move(make)});
    for (const auto& [name, make] : schemes) {
      INFO(ranks.name << ", " << name);
      auto got = layer_by_layer<TestType>(ranks, data, make, backward, forward);
      const auto expected = trajectories<TestType>(ranks, data, make);
      for (std::size_t rank = 0; rank < got.size(); ++rank) {
        CHECK(got[rank].back() == 0);
        got[rank].pop_back();
        CHECK(distance(got[rank], expected[rank]) == 0);  // no NaN either
        CHECK(same_bits(got[rank], expected[rank]));
      }
    }
  }
}

}  // namespace
