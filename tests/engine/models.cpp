#include <array>
#include <catch2/catch.hpp>
#include <cstddef>
#include <map>
#include <span>
#include <stdexcept>
#include <string>
#include <syncopate/syncopate.hpp>
#include <tuple>
#include <utility>
#include <vector>

#include "../support/ranks.hpp"
#include "named_schemes.hpp"

using namespace syncopate;

namespace {

/// A gradient that depends on weights, step and rank, in numbers that float represents.
template <class W, class G>
void compute(const W& weights, G& gradient, int step, int rank) {
  for (std::size_t i = 0; i < gradient.size(); ++i)
    gradient[i] = weights[i] / 2 + static_cast<float>((step * 7 + rank * 3 + static_cast<int>(i)) % 5 - 2);
}

/// What each named scheme makes of 23 steps on a vector, where `step(scheme, weights, gradient)` takes one.
template <class C, class Step>
std::map<std::string, std::vector<float>> trained(const C& communicator, Step step_with) {
  std::map<std::string, std::vector<float>> found;
  std::vector<float> weights(600);
  support::for_each_named_scheme(weights, communicator, [&](const std::string& name, auto scheme) {
    std::vector<float> gradient(600);
    weights.assign(600, 0);
    for (int step = 0; step < 23; ++step) {
      compute(weights, gradient, step, communicator.rank());
      step_with(scheme, weights, gradient);
    }
    scheme.finish(weights);
    found[name] = weights;
  });
  return found;
}

constexpr auto plain_step = [](auto& scheme, auto& weights, auto& gradient) { scheme.step(weights, gradient); };

}  // namespace

TEST_CASE("Tensors may move between steps", "[engine][models]") {
  std::vector<std::vector<float>> kept;  // so that memory is not given back and reused
  CHECK(trained(loopback{}, [&](auto& scheme, auto& weights, auto& gradient) {
          scheme.step(weights, gradient);
          std::vector<float> elsewhere(weights), nothing(gradient.size(), 1e30f);
          std::swap(weights, elsewhere);
          std::swap(gradient, nothing);
          kept.push_back(std::move(elsewhere));
          kept.push_back(std::move(nothing));
        }) == trained(loopback{}, plain_step));
}

TEST_CASE("A gradient may be overwritten as soon as step returns", "[engine][models]") {
  CHECK(trained(loopback{}, [](auto& scheme, auto& weights, auto& gradient) {
          scheme.step(weights, gradient);
          gradient.assign(gradient.size(), 1e30f);
        }) == trained(loopback{}, plain_step));
}

TEST_CASE("Gradients may be const, of another tensor type, and temporaries", "[engine][models]") {
  const auto expected = trained(loopback{}, plain_step);
  CHECK(trained(loopback{}, [](auto& scheme, auto& weights, auto& gradient) {
          scheme.step(weights, std::as_const(gradient));
        }) == expected);
  CHECK(trained(loopback{}, [](auto& scheme, auto& weights, auto& gradient) {
          scheme.step(std::span<float>(weights), std::span<const float>(gradient));
        }) == expected);
  CHECK(trained(loopback{}, [](auto& scheme, auto& weights, auto& gradient) {
          scheme.step(std::tie(weights), std::vector<float>(gradient));
        }) == expected);
}

TEST_CASE("A model's shape, its tensor types and the size of buckets do not matter", "[engine][models]") {
  // All at once, and cut into layers that are pairs of tensors, a vector of them and an array.
  using layer = std::pair<std::vector<float>, std::array<float, 17>>;
  struct network {
    std::vector<layer> layers = std::vector<layer>(3, {std::vector<float>(530), {}});
    std::array<float, 5> last{};
    auto tie() { return std::tie(layers, last); }
  };
  constexpr std::size_t total = 3 * (530 + 17) + 5;
  const std::size_t bucket_bytes = GENERATE(1u, 100u, 2200u, 1u << 20);
  network weights, gradients;
  std::vector<float> flat_weights(total), flat_gradients(total);
  const lookahead_averaging averaging{exponential_smoothing{}, sgd{.learning_rate = 0.125, .momentum = 0.5}};
  update_scheme scheme{weights.tie(), loopback{}, fixed_delay{2}, averaging, bucket_bytes};
  update_scheme flat{flat_weights, loopback{}, fixed_delay{2}, averaging};
  const auto flatten = [](network& model, std::vector<float>& out) {
    out.clear();
    for_each_tensor(model.tie(), [&](auto elements) { out.insert(out.end(), elements.begin(), elements.end()); });
  };
  for (int step = 0; step < 10; ++step) {
    compute(flat_weights, flat_gradients, step, 0);
    std::size_t begin = 0;
    for_each_tensor(gradients.tie(), [&](auto elements) {
      for (float& element : elements) element = flat_gradients[begin++];
    });
    scheme.step(weights.tie(), gradients.tie());
    flat.step(flat_weights, flat_gradients);
    std::vector<float> now;
    flatten(weights, now);
    CHECK(now == flat_weights);
  }
  scheme.finish(weights.tie());
  flat.finish(flat_weights);
  std::vector<float> now;
  flatten(weights, now);
  CHECK(now == flat_weights);
}

TEST_CASE("Empty tensors and empty models are trained like others", "[engine][models]") {
  std::vector<std::vector<double>> weights(3), gradients(3);
  weights[1] = {1};
  gradients[1] = {4};
  auto scheme = synchronous_sgd(weights, loopback{}, sgd{.learning_rate = 0.25});
  scheme.step(weights, gradients);
  CHECK(weights == std::vector<std::vector<double>>{{}, {0}, {}});

  std::vector<std::vector<double>> none;
  auto idle = dasgd(none, loopback{}, sgd{});
  for (int step = 0; step < 9; ++step) idle.step(none, none);
  idle.consensus(none, none);
  idle.finish(none);
  CHECK(idle.statistics().steps == 9);
}

TEST_CASE("A consensus in mid-course disturbs nothing and is the same on all ranks", "[engine][consensus]") {
  const int ranks = GENERATE(1, 2, 3);
  const auto found = support::on_ranks(ranks, [](thread_communicator communicator) {
    const auto undisturbed = trained(communicator, plain_step);
    std::vector<std::vector<float>> seen;
    const auto disturbed = trained(communicator, [&](auto& scheme, auto& weights, auto& gradient) {
      scheme.step(weights, gradient);
      const std::vector<float> before = weights;
      std::array<float, 600> out{};
      scheme.consensus(weights, out);
      if (before != weights) throw std::logic_error("a consensus changed the weights");
      seen.emplace_back(out.begin(), out.end());
      const auto launched = scheme.statistics().launched;
      std::vector<float> same(weights);
      scheme.consensus(same, same);  // into the weights themselves
      if (same != seen.back() || launched != scheme.statistics().launched)
        throw std::logic_error("two consensuses differ");
    });
    return std::tuple(undisturbed, disturbed, seen);
  });
  for (const auto& [undisturbed, disturbed, seen] : found) {
    CHECK(disturbed == undisturbed);
    CHECK(undisturbed == std::get<0>(found[0]));  // finish leaves the same on all ranks
    CHECK(seen == std::get<2>(found[0]));
    CHECK(seen.size() == 7 * 23);
  }
}

TEST_CASE("A consensus is the weights without prediction, or their mean", "[engine][consensus]") {
  const auto found = support::on_ranks(2, [](thread_communicator communicator) {
    const double own = communicator.rank() == 0 ? 2 : 6;
    std::vector<double> ahead(1), alone(1), out(1), result;
    auto predicting = lookahead_sgd(ahead, communicator, sgd{.learning_rate = 1});
    auto local = local_sgd(alone, communicator, sgd{.learning_rate = 1}, 2);
    for (auto step : {0, 1}) {
      predicting.step(ahead, std::vector{own});
      if (step == 0) local.step(alone, std::vector{own});
      predicting.consensus(ahead, out);
      result.insert(result.end(), {ahead[0], out[0]});
    }
    local.consensus(alone, out);
    result.insert(result.end(), {alone[0], out[0]});
    return result;
  });
  CHECK(found[0] == std::vector<double>{-2, 0, -6, -4, -2, -4});
  CHECK(found[1] == std::vector<double>{-6, 0, -10, -4, -6, -4});
}

TEST_CASE("A mean is weighted by samples", "[engine][samples]") {
  const auto found = support::on_ranks(4, [](thread_communicator communicator) {
    std::vector<double> weights(1), gradients{static_cast<double>(communicator.rank())}, seen;
    auto scheme = synchronous_sgd(weights, communicator, sgd{.learning_rate = 1});
    const double samples[4] = {5, 1, 2, 8};
    scheme.step(weights, gradients, samples[communicator.rank()]);  // (0·5 + 1·1 + 2·2 + 3·8) / 16
    seen.push_back(weights[0]);
    scheme.step(weights, gradients, communicator.rank() == 2 ? 8 : 0);
    seen.push_back(weights[0]);
    scheme.step(weights, gradients, 0);
    seen.push_back(weights[0]);
    scheme.step(weights, gradients);
    seen.push_back(weights[0]);
    return seen;
  });
  for (const auto& seen : found) CHECK(seen == std::vector<double>{-1.8125, -3.8125, -3.8125, -5.3125});
}
