// `make_exchange` of an averaging: it carries its messages itself.
#include <catch2/catch.hpp>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <syncopate/detail/exchange/all_reduce.hpp>
#include <syncopate/syncopate.hpp>
#include <tuple>
#include <utility>
#include <vector>

#include "../support/ranks.hpp"
#include "training.hpp"

using namespace syncopate;
using seams::model;

namespace {

/// The nearest number with eight bits of mantissa.
template <class T>
T rounded(T x) {
  int exponent = 0;
  const T mantissa = std::frexp(x, &exponent);
  return std::ldexp(std::nearbyint(std::ldexp(mantissa, 8)), exponent - 8);
}

/// Sends contributions rounded. What that takes from one is added to the next one.
template <class T>
class rounded_sum final : public detail::all_reduce<T> {
  using typename detail::all_reduce<T>::message;

 public:
  rounded_sum(const detail::cargo& what, detail::wire& on, detail::measurement& measured, bool feeds_back)
      : detail::all_reduce<T>(what, on, measured), residual_(this->layout().size), feeds_back_(feeds_back) {}

  std::span<const T> residual() const { return residual_.elements(); }

  void serialise(detail::state_visitor& visitor) override {
    detail::all_reduce<T>::serialise(visitor);
    visitor.vector(detail::role::message, false, residual_.elements());
  }

 protected:
  void start(message& m, bool due_at_launch) override {
    if (m.own.samples > 0)  // else there may be no mean that this could be part of
      for (std::size_t i = 0; i < residual_.size(); ++i) {
        T& element = m.elements[i];
        const T wanted = element + residual_[i];
        element = rounded(wanted);
        if (feeds_back_) residual_[i] = wanted - element;
      }
    detail::all_reduce<T>::start(m, due_at_launch);
  }

 private:
  detail::buffer<T> residual_;
  bool feeds_back_;
};

/// Another averaging, whose messages are rounded. `T` is the model's element type.
template <class T, class Averaging>
struct rounding : Averaging {
  bool feeds_back = true;
  std::vector<std::span<const T>>* residuals = nullptr;  ///< of all buckets, for who wants to look

  std::unique_ptr<detail::exchange> make_exchange(std::size_t, const detail::cargo& what, detail::wire& on,
                                                  detail::measurement& measured) const {
    if (what.factors || what.sharded) throw configuration_error("only gradients are rounded, all of them on each rank");
    auto made = std::make_unique<rounded_sum<T>>(what, on, measured, feeds_back);
    if (residuals) residuals->push_back(made->residual());
    return made;
  }
};

template <class T>
auto rounding_sgd(double learning_rate, bool feeds_back = true, std::vector<std::span<const T>>* residuals = nullptr) {
  using averaging = gradient_averaging<no_prediction, sgd>;
  return rounding<T, averaging>{averaging{no_prediction{}, sgd{.learning_rate = learning_rate}}, feeds_back, residuals};
}

/// 300 + 1, say: a number that more than eight bits are needed for.
template <class T>
model<T> gradients_at(const model<T>& layout, std::int64_t step, int rank) {
  model<T> made = seams::numbers_like(layout, step, rank);
  for (auto& layer : made)
    for (T& element : layer) element += element * 300 + 1;
  return made;
}

template <class Scheme, class T>
void train(Scheme& scheme, model<T>& weights, std::int64_t from, std::int64_t to, bool by_layers) {
  for (std::int64_t step = from; step < to; ++step)
    seams::step(scheme, weights, by_layers,
                [&](const model<T>& layout) { return gradients_at(layout, step, scheme.rank()); });
}

template <class T>
model<T> start() {
  return {std::vector<T>(3), std::vector<T>(600), std::vector<T>(40)};
}

const scheme_options a_bucket_for_each_layer{.bucket_bytes = 1};

}  // namespace

TEMPLATE_TEST_CASE("What was decoded and what is left is what was contributed", "[seams][exchange]", float, double) {
  using T = TestType;
  // Sums of whole numbers, over a power of two of ranks, are exact; so is what rounding leaves of one.
  const int ranks = GENERATE(1, 2, 4), delay = GENERATE(0, 1, 2);
  const bool by_layers = GENERATE(false, true);
  constexpr std::int64_t steps = 20;
  struct seen {
    model<T> weights, residuals;
  };
  const auto found = support::on_ranks(ranks, [&](thread_communicator communicator) {
    model<T> weights = start<T>();
    std::vector<std::span<const T>> residuals;
    update_scheme scheme{weights, communicator, fixed_delay{delay}, rounding_sgd<T>(1, true, &residuals),
                         a_bucket_for_each_layer};
    train(scheme, weights, 0, steps, by_layers);
    scheme.finish(weights);
    scheme.checksum(weights);
    model<T> left;
    for (const auto& residual : residuals) left.emplace(left.begin(), residual.begin(), residual.end());
    return seen{weights, left};
  });
  std::size_t left = 0, different = 0;
  for (std::size_t layer = 0; layer < 3; ++layer)
    for (std::size_t i = 0; i < found[0].weights[layer].size(); ++i) {
      T sum = 0;
      for (int rank = 0; rank < ranks; ++rank) {
        for (std::int64_t step = 0; step < steps; ++step) sum += gradients_at(start<T>(), step, rank)[layer][i];
        const T residual = found[static_cast<std::size_t>(rank)].residuals[layer][i];
        sum -= residual;
        if (residual != 0) ++left;
      }
      if (-found[0].weights[layer][i] * static_cast<T>(ranks) != sum) ++different;
    }
  INFO(ranks << " ranks, delay " << delay);
  CHECK(left > 0);
  CHECK(different == 0);
  for (const seen& s : found) CHECK((s.weights == found[0].weights));
}

TEST_CASE("What is fed back leads to the minimum that rounded gradients cannot see", "[seams][exchange]") {
  // Rank 0 minimises ½ (w − 1001)², and rank 1 ½ (w + 999)²: at w = 0 their gradients are rounded to −1000 and 1000,
  // while the sum of both functions is least at w = 1.
  const int delay = GENERATE(0, 1, 2);
  const bool by_layers = GENERATE(false, true);
  constexpr double learning_rate = 1. / 64;
  const auto trained = [&](bool feeds_back) {
    return support::on_ranks(2, [&](thread_communicator communicator) {
      model<float> weights{std::vector<float>(5)};
      update_scheme scheme{weights, communicator, fixed_delay{delay}, rounding_sgd<float>(learning_rate, feeds_back)};
      for (int step = 0; step < 1000; ++step)
        seams::step(scheme, weights, by_layers, [&](const model<float>& now) {
          model<float> gradients = now;
          for (float& g : gradients[0]) g -= communicator.rank() == 0 ? 1001.F : -999.F;
          return gradients;
        });
      scheme.finish(weights);
      return weights;
    });
  };
  for (const auto& weights : trained(false))
    for (const float w : weights[0]) CHECK(w == 0);
  // What is withheld of each gradient is at most 2, so that w is learning_rate · 2 from the weights that exact
  // gradients, taken at w, would have led to; these are as far from the minimum at most.
  for (const auto& weights : trained(true))
    for (const float w : weights[0]) CHECK(std::abs(w - 1) <= 2 * learning_rate * 2);
}

TEST_CASE("What is fed back is in the checkpoint, also with messages in flight", "[seams][exchange]") {
  const int delay = GENERATE(0, 1, 2);
  const bool by_layers = GENERATE(false, true);
  const auto found = support::on_ranks(3, [&](thread_communicator communicator) {
    const auto make = [&](model<float>& weights) {
      return update_scheme{weights, communicator, fixed_delay{delay}, rounding_sgd<float>(0.125),
                           a_bucket_for_each_layer};
    };
    model<float> weights = start<float>(), resumed = start<float>();
    auto scheme = make(weights);
    train(scheme, weights, 0, 7, by_layers);
    if (by_layers)
      for (std::size_t layer = 0; layer < 3; ++layer) scheme.before_forward(layer);
    const std::string checkpoint = seams::saved(scheme, weights);
    auto another = make(resumed);
    seams::load(another, resumed, checkpoint);
    train(scheme, weights, 7, 15, by_layers);
    train(another, resumed, 7, 15, by_layers);
    scheme.finish(weights);
    another.finish(resumed);
    return std::pair(weights, resumed);
  });
  for (const auto& [weights, resumed] : found) {
    CHECK((weights == resumed));
    CHECK((weights == found[0].first));
  }
}

TEST_CASE("Layer by layer is the whole model, with an exchange of one's own", "[seams][exchange]") {
  const int delay = GENERATE(0, 1, 2);
  const auto trained = [&](bool by_layers) {
    return support::on_ranks(3, [&](thread_communicator communicator) {
      model<float> weights = start<float>();
      using averaging = lookahead_averaging<local_gradient, sgd>;
      update_scheme scheme{weights, communicator, fixed_delay{delay},
                           rounding<float, averaging>{averaging{local_gradient{}, sgd{.momentum = 0.5}}},
                           a_bucket_for_each_layer};
      train(scheme, weights, 0, 12, by_layers);
      for (std::size_t layer = 0; layer < 3; ++layer) scheme.before_forward(layer);
      const auto sum = scheme.checksum(weights);
      return std::pair(weights, sum);
    });
  };
  const auto whole = trained(false), by_layers = trained(true);
  for (std::size_t rank = 0; rank < 3; ++rank) {
    CHECK((whole[rank] == by_layers[rank]));
    CHECK(whole[rank].second == whole[0].second);
  }
}

TEST_CASE("What an exchange keeps is counted, and takes nothing from a rank without samples", "[seams][exchange]") {
  // Ranks make 9, 10 and 11 steps; who has joined keeps what it has left.
  const auto found = support::on_ranks(3, [](thread_communicator communicator) {
    model<double> weights = start<double>();
    std::vector<std::span<const double>> residuals;
    update_scheme scheme{weights, communicator, fixed_delay{1}, rounding_sgd<double>(0.125, true, &residuals)};
    train(scheme, weights, 0, 9 + communicator.rank(), false);
    const std::vector<double> left(residuals[0].begin(), residuals[0].end());
    scheme.finish(weights);
    return std::tuple(weights, !left.empty() && left == std::vector<double>(residuals[0].begin(), residuals[0].end()),
                      scheme.memory().messages);
  });
  constexpr std::size_t elements = 643, header = detail::header_elements * 3;
  for (const auto& [weights, kept, bytes] : found) {
    CHECK((weights == std::get<0>(found[0])));
    CHECK(kept);
    CHECK(bytes == (2 * (elements + header) + elements) * sizeof(double));
  }
}

TEST_CASE("What an exchange of one's own cannot carry is refused on all ranks", "[seams][exchange]") {
  using averaging = gradient_averaging<no_prediction, sgd>;
  const auto said = [](const auto& with, const scheme_options& options) {
    return support::on_ranks(2, [&](thread_communicator communicator) {
      return support::outcome_of([&] {
               model<float> weights{std::vector<float>(12)};
               update_scheme scheme{weights, communicator, fixed_delay{1}, with, options};
             })
          .text;
    });
  };
  const std::vector<std::string> refused(2, "only gradients are rounded, all of them on each rank");
  CHECK(said(rounding<float, averaging>{}, {}) == std::vector<std::string>(2));
  CHECK(said(rounding<float, sharded_averaging<averaging>>{}, {}) == refused);
  scheme_options factors;
  factors.product = [](const auto&) {};
  factors.factored_layers = {
      {.layer = 0, .inputs = 3, .outputs = 4, .largest_batch = 1, .exchange = factor_exchange::replicated}};
  CHECK(said(rounding<float, averaging>{}, factors) == refused);
}
