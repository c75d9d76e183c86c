#include <array>
#include <catch2/catch.hpp>
#include <cstddef>
#include <functional>
#include <map>
#include <span>
#include <stdexcept>
#include <string>
#include <syncopate/syncopate.hpp>
#include <tuple>
#include <utility>
#include <vector>

#include "../support/ranks.hpp"
#include "../support/training.hpp"
#include "named_schemes.hpp"

using namespace syncopate;

namespace {

using support::any_communicator;
using support::any_scheme;
using support::model;

/// A gradient that depends on weights, step and rank, in numbers that float represents.
void compute(const std::vector<float>& weights, std::vector<float>& gradient, int step, int rank) {
  for (std::size_t i = 0; i < gradient.size(); ++i)
    gradient[i] = weights[i] / 2 + static_cast<float>((step * 7 + rank * 3 + static_cast<int>(i)) % 5 - 2);
}

using step_function = std::function<void(any_scheme<model<float>>&, model<float>& weights, model<float>& gradients)>;

void plain_step(any_scheme<model<float>>& scheme, model<float>& weights, model<float>& gradients) {
  scheme.step(weights, gradients);
}

/// What each named scheme makes of 23 steps on a vector.
std::map<std::string, std::vector<float>> trained(const any_communicator& communicator,
                                                  const step_function& step_with) {
  std::map<std::string, std::vector<float>> found;
  for (const auto& [name, make] : support::named_schemes<model<float>>()) {
    model<float> weights{std::vector<float>(600)}, gradients = weights;
    auto scheme = make(weights, communicator.duplicate());
    for (int step = 0; step < 23; ++step) {
      compute(weights[0], gradients[0], step, communicator.rank());
      step_with(scheme, weights, gradients);
    }
    scheme.finish(weights);
    found[name] = weights[0];
  }
  return found;
}

const any_communicator alone(loopback{});

/// The scheme of tests of what a model may be, of which a scheme itself sees nothing but spans.
template <class W>
auto looking_ahead(W&& weights, std::size_t bucket_bytes = default_bucket_bytes) {
  return update_scheme{weights, loopback{}, fixed_delay{2},
                       lookahead_averaging{exponential_smoothing{}, sgd{.learning_rate = 0.125, .momentum = 0.5}},
                       scheme_options{.bucket_bytes = bucket_bytes}};
}

}  // namespace

TEST_CASE("Tensors may move between steps", "[engine][models]") {
  std::vector<model<float>> kept;  // so that memory is not given back and reused
  CHECK(trained(alone, [&](auto& scheme, auto& weights, auto& gradients) {
          scheme.step(weights, gradients);
          model<float> elsewhere(weights), nothing{std::vector<float>(600, 1e30f)};
          std::swap(weights, elsewhere);
          std::swap(gradients, nothing);
          kept.push_back(std::move(elsewhere));
          kept.push_back(std::move(nothing));
        }) == trained(alone, plain_step));
}

TEST_CASE("A gradient may be overwritten as soon as step returns", "[engine][models]") {
  CHECK(trained(alone, [](auto& scheme, auto& weights, auto& gradients) {
          scheme.step(weights, gradients);
          gradients[0].assign(600, 1e30f);
        }) == trained(alone, plain_step));
}

TEST_CASE("Gradients may be const, of another tensor type, and temporaries", "[engine][models]") {
  const auto after = [](auto step_with) {
    std::vector<float> weights(600), gradient(600);
    auto scheme = looking_ahead(weights);
    for (int step = 0; step < 23; ++step) {
      compute(weights, gradient, step, 0);
      step_with(scheme, weights, gradient);
    }
    std::array<float, 600> consensus{};
    scheme.consensus(std::as_const(weights), consensus);
    scheme.finish(std::span<float>(weights));
    weights.insert(weights.end(), consensus.begin(), consensus.end());
    return weights;
  };
  const auto expected = after([](auto& scheme, auto& weights, auto& gradient) { scheme.step(weights, gradient); });
  CHECK(after([](auto& scheme, auto& weights, auto& gradient) { scheme.step(weights, std::as_const(gradient)); }) ==
        expected);
  CHECK(after([](auto& scheme, auto& weights, auto& gradient) {
          scheme.step(std::span<float>(weights), std::span<const float>(gradient));
        }) == expected);
  CHECK(after([](auto& scheme, auto& weights, auto& gradient) {
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
  auto scheme = looking_ahead(weights.tie(), bucket_bytes);
  auto flat = looking_ahead(flat_weights);
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
  model<double> weights{{}, {1}, {}};
  auto scheme = compiled::synchronous_sgd<model<double>>(sgd{.learning_rate = 0.25})(weights, alone.duplicate());
  scheme.step(weights, {{}, {4}, {}});
  CHECK(weights == model<double>{{}, {0}, {}});

  model<double> none;
  auto idle = compiled::dasgd<model<double>>(sgd{})(none, alone.duplicate());
  for (int step = 0; step < 9; ++step) idle.step(none, none);
  idle.consensus(none, none);
  idle.finish(none);
  CHECK(idle.statistics().steps == 9);
}

TEST_CASE("A consensus in mid-course disturbs nothing and is the same on all ranks", "[engine][consensus]") {
  const int ranks = GENERATE(1, 2, 3);
  const auto found = support::on_ranks(ranks, [](thread_communicator communicator) {
    const any_communicator all(communicator);
    const auto undisturbed = trained(all, plain_step);
    std::vector<model<float>> seen;
    const auto disturbed = trained(all, [&](auto& scheme, auto& weights, auto& gradients) {
      scheme.step(weights, gradients);
      const model<float> before = weights;
      model<float> out{std::vector<float>(600)};
      scheme.consensus(weights, out);
      if (before != weights) throw std::logic_error("a consensus changed the weights");
      seen.push_back(out);
      const auto launched = scheme.statistics().launched;
      model<float> same = weights;
      scheme.consensus(same, same);  // into the weights themselves
      if (same != out || launched != scheme.statistics().launched) throw std::logic_error("two consensuses differ");
    });
    return std::tuple(undisturbed, disturbed, seen);
  });
  for (const auto& [undisturbed, disturbed, seen] : found) {
    CHECK(disturbed == undisturbed);
    CHECK(undisturbed == std::get<0>(found[0]));  // finish leaves the same on all ranks
    CHECK(seen == std::get<2>(found[0]));
    CHECK(seen.size() == 9 * 23);
  }
}

TEST_CASE("A consensus is the weights without prediction, or their mean", "[engine][consensus]") {
  const auto found = support::on_ranks(2, [](thread_communicator communicator) {
    const double own = communicator.rank() == 0 ? 2 : 6;
    model<double> ahead{{0}}, apart{{0}}, out{{0}};
    std::vector<double> result;
    auto predicting =
        compiled::lookahead_sgd<model<double>>(sgd{.learning_rate = 1})(ahead, any_communicator(communicator));
    auto local = compiled::local_sgd<model<double>>(sgd{.learning_rate = 1}, 2)(apart, any_communicator(communicator));
    for (auto step : {0, 1}) {
      predicting.step(ahead, {{own}});
      if (step == 0) local.step(apart, {{own}});
      predicting.consensus(ahead, out);
      result.insert(result.end(), {ahead[0][0], out[0][0]});
    }
    local.consensus(apart, out);
    result.insert(result.end(), {apart[0][0], out[0][0]});
    return result;
  });
  CHECK(found[0] == std::vector<double>{-2, 0, -6, -4, -2, -4});
  CHECK(found[1] == std::vector<double>{-6, 0, -10, -4, -6, -4});
}

TEST_CASE("A mean is weighted by samples", "[engine][samples]") {
  const auto found = support::on_ranks(4, [](thread_communicator communicator) {
    model<double> weights{{0}};
    const model<double> gradients{{static_cast<double>(communicator.rank())}};
    std::vector<double> seen;
    auto scheme =
        compiled::synchronous_sgd<model<double>>(sgd{.learning_rate = 1})(weights, any_communicator(communicator));
    const double samples[4] = {5, 1, 2, 8};
    scheme.step(weights, gradients, samples[communicator.rank()]);  // (0·5 + 1·1 + 2·2 + 3·8) / 16
    seen.push_back(weights[0][0]);
    scheme.step(weights, gradients, communicator.rank() == 2 ? 8 : 0);
    seen.push_back(weights[0][0]);
    scheme.step(weights, gradients, 0);
    seen.push_back(weights[0][0]);
    scheme.step(weights, gradients);
    seen.push_back(weights[0][0]);
    return seen;
  });
  for (const auto& seen : found) CHECK(seen == std::vector<double>{-1.8125, -3.8125, -3.8125, -5.3125});
}
