// Fully connected layers whose gradients travel as their factors.
#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <sstream>
#include <string>
#include <syncopate/checkpoint.hpp>
#include <syncopate/communicators/thread_team.hpp>
#include <syncopate/detail/exchange/block_header.hpp>
#include <syncopate/syncopate.hpp>
#include <utility>
#include <vector>

#include "../support/ranks.hpp"
#include "text_of.hpp"

using namespace syncopate;
using support::on_ranks;
using support::text_of;

namespace {

template <class T>
using tensors = std::vector<std::vector<T>>;
/// Two fully connected layers, 7-5-8, of which the second has no bias.
template <class T>
using model = std::vector<tensors<T>>;

template <class T>
model<T> zeros() {
  return {{std::vector<T>(35), std::vector<T>(5)}, {std::vector<T>(40)}};
}

struct plain_product {
  template <class T>
  void operator()(const product_of_factors<T>& p) const {
    for (std::size_t i = 0; i < p.inputs; ++i)
      for (std::size_t j = 0; j < p.outputs; ++j) {
        T sum = p.accumulates ? p.out[i * p.outputs + j] : T(0);
        for (std::size_t row = 0; row < p.rows; ++row)
          sum += p.activations[row * p.inputs + i] * p.errors[row * p.outputs + j];
        p.out[i * p.outputs + j] = sum;
      }
  }
};

/// What a rank computes in a step: activations and errors of either layer. Mini-batches have different sizes.
template <class T>
struct mini_batch {
  std::size_t rows;
  std::array<std::vector<T>, 2> activations, errors;

  mini_batch(int rank, int step) : rows(static_cast<std::size_t>(1 + (rank + step) % 4)) {
    unsigned seed = static_cast<unsigned>(step * 17 + rank * 5 + 1);
    const auto fill = [&](std::size_t columns) {
      std::vector<T> all(rows * columns);
      for (T& x : all) {
        seed = seed * 1103515245 + 12345;
        x = static_cast<T>(seed / 65536 % 101) / 50 - 1;
      }
      return all;
    };
    activations = {fill(7), fill(5)};
    errors = {fill(5), fill(8)};
  }

  model<T> gradient() const {
    model<T> all = zeros<T>();
    plain_product()(
        product_of_factors<T>{activations[0].data(), errors[0].data(), all[0][0].data(), rows, 7, 5, false});
    plain_product()(
        product_of_factors<T>{activations[1].data(), errors[1].data(), all[1][0].data(), rows, 5, 8, false});
    for (std::size_t i = 0; i < errors[0].size(); ++i) all[0][1][i % 5] += errors[0][i];
    return all;
  }
};

scheme_options factored(factor_exchange exchange) {
  return {.bucket_bytes = 0,
          .factored_layers = {{0, 7, 5, 4, exchange}, {1, 5, 8, 4, exchange}},
          .product = plain_product()};
}

template <class T, class S>
void step_by_factors(S& scheme, model<T>& weights, const mini_batch<T>& batch, double samples) {
  scheme.begin_step(weights, samples);
  for (const std::size_t layer : {0u, 1u}) scheme.before_forward(layer);
  for (const std::size_t layer : {1u, 0u}) scheme.factors_ready(layer, batch.activations[layer], batch.errors[layer]);
  scheme.end_step();
}

/// Calls `use(make_scheme)` for the averaging that this exchange needs, of a learning rate at which weights stay small.
template <class Use>
auto with_averaging(bool shares, Use use) {
  const gradient_averaging averaging{no_prediction{}, adamw{.learning_rate = 0.05}};
  return shares ? use(sharded_averaging{averaging}) : use(averaging);
}

template <class T>
double distance(const model<T>& a, const model<T>& b) {
  double most = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    for (std::size_t j = 0; j < a[i].size(); ++j)
      for (std::size_t k = 0; k < a[i][j].size(); ++k)
        most = std::max(most, std::abs(static_cast<double>(a[i][j][k]) - static_cast<double>(b[i][j][k])));
  return most;
}

}  // namespace

TEMPLATE_TEST_CASE("Factors lead to the weights of synchronous training, up to rounding", "[engine][factors]", float,
                   double) {
  using exchange = factor_exchange;
  const int ranks = GENERATE(1, 2, 3, 4, 5), delay = GENERATE(0, 2);
  const auto [how, shares] = GENERATE(std::pair{exchange::gradient, false}, std::pair{exchange::replicated, false},
                                      std::pair{exchange::automatic, true}, std::pair{exchange::replicated, true},
                                      std::pair{exchange::sharded, true});
  const auto apart = on_ranks(ranks, [&, how = how, shares = shares](thread_communicator communicator) {
    return with_averaging(shares, [&](auto averaging) {
      const int rank = communicator.rank();
      model<TestType> weights = zeros<TestType>(), expected = weights;
      update_scheme scheme{weights, communicator, fixed_delay{delay}, averaging, factored(how)};
      update_scheme plain{expected, communicator, fixed_delay{delay},
                          gradient_averaging{averaging.predictor, averaging.rule}};
      for (int step = 0; step < 8; ++step) {
        const mini_batch<TestType> batch(rank, step);
        step_by_factors(scheme, weights, batch, rank + 1.);
        plain.step(expected, batch.gradient(), rank + 1.);
      }
      scheme.finish(weights);
      plain.finish(expected);
      scheme.checksum(weights);  // throws where ranks differ
      return distance(weights, expected);
    });
  });
  CAPTURE(ranks, delay, static_cast<int>(how), shares);
  // Sums of up to 20 products each are rounded in another order, and AdamW divides by their size.
  for (const double d : apart) CHECK(d <= 64 * static_cast<double>(std::numeric_limits<TestType>::epsilon()));
}

TEST_CASE("A rank keeps the state of its part of a layer whose factors are sharded", "[engine][factors]") {
  const auto kept = on_ranks(3, [](thread_communicator communicator) {
    model<float> weights = zeros<float>();
    const auto memory = [&](factor_exchange how) {
      return update_scheme{weights, communicator, fixed_delay{0},
                           sharded_averaging{gradient_averaging{no_prediction{}, adamw{}}}, factored(how)}
          .memory();
    };
    return std::pair(memory(factor_exchange::sharded).rule, memory(factor_exchange::replicated).rule);
  });
  // Rows in threes: 3 of 7 and 2 of 5; two elements of the bias.
  for (const auto& [shared, whole] : kept) {
    CHECK(shared == 2 * (3 * 5 + 2 + 2 * 8) * sizeof(float));
    CHECK(whole == 2 * 80 * sizeof(float));
  }
}

TEST_CASE("Ranks with fewer steps, and layers without a gradient, contribute nothing", "[engine][factors]") {
  const auto how = GENERATE(factor_exchange::replicated, factor_exchange::sharded);
  const auto apart = on_ranks(3, [&](thread_communicator communicator) {
    return with_averaging(how == factor_exchange::sharded, [&](auto averaging) {
      const int rank = communicator.rank();
      model<double> weights = zeros<double>(), expected = weights;
      scheme_options options = factored(how);
      options.optional_layers = {1};
      update_scheme scheme{weights, communicator, fixed_delay{1}, averaging, options};
      update_scheme plain{expected, communicator, fixed_delay{1},
                          gradient_averaging{averaging.predictor, averaging.rule}};
      const auto without = [&](int step) { return step == 2 && rank != 1; };
      for (int step = 0; step < 4 + 2 * rank; ++step) {
        const mini_batch<double> batch(rank, step);
        scheme.begin_step(weights);
        for (const std::size_t layer : {0u, 1u}) scheme.before_forward(layer);
        scheme.factors_ready(0, batch.activations[0], batch.errors[0]);
        if (!without(step)) scheme.factors_ready(1, batch.activations[1], batch.errors[1]);
        scheme.end_step();
      }
      scheme.finish(weights);
      for (int step = 0; step < 4 + 2 * rank; ++step) {
        auto gradient = mini_batch<double>(rank, step).gradient();
        if (without(step)) std::ranges::fill(gradient[1][0], 0.);
        plain.step(expected, gradient);
      }
      plain.finish(expected);
      return distance(weights, expected);
    });
  });
  for (const double d : apart) CHECK(d < 1e-14);
}

TEST_CASE("Factors in flight are part of a checkpoint", "[engine][factors]") {
  const auto how = GENERATE(factor_exchange::replicated, factor_exchange::sharded);
  const auto same = on_ranks(2, [&](thread_communicator communicator) {
    return with_averaging(how == factor_exchange::sharded, [&](auto averaging) {
      const auto train = [&](auto& scheme, auto& weights, int from, int to) {
        for (int step = from; step < to; ++step)
          step_by_factors(scheme, weights, mini_batch<float>(communicator.rank(), step), 1);
      };
      const auto make = [&](auto& weights) {
        return update_scheme{weights, communicator, fixed_delay{2}, averaging, factored(how)};
      };
      model<float> whole = zeros<float>(), weights = whole, resumed = whole;
      auto one = make(whole);
      train(one, whole, 0, 9);
      one.finish(whole);
      auto first = make(weights);
      train(first, weights, 0, 5);
      std::stringstream stream;
      checkpoint_writer writer(stream);
      first.save(writer, weights);
      writer.finish();
      auto second = make(resumed);
      checkpoint_reader reader(stream);
      second.load(reader, resumed);
      train(second, resumed, 5, 9);
      second.finish(resumed);
      return resumed == whole;
    });
  });
  CHECK(same == std::vector{true, true});
}

TEST_CASE("Factors that are not finite are refused on all ranks", "[engine][factors]") {
  const auto how = GENERATE(factor_exchange::replicated, factor_exchange::sharded);
  const bool in_errors = GENERATE(false, true);
  const auto texts = on_ranks(3, [&](thread_communicator communicator) {
    return with_averaging(how == factor_exchange::sharded, [&](auto averaging) {
      model<float> weights = zeros<float>();
      update_scheme scheme{weights, communicator, fixed_delay{0}, averaging, factored(how)};
      mini_batch<float> batch(communicator.rank(), 0);
      if (communicator.rank() == 2)
        (in_errors ? batch.errors : batch.activations)[0][1] = std::numeric_limits<float>::quiet_NaN();
      std::string text = text_of<non_finite_error>([&] {
        step_by_factors(scheme, weights, batch, 1);
        scheme.before_forward(0);
      });
      if (weights != zeros<float>()) text += "; and weights have changed";
      step_by_factors(scheme, weights, mini_batch<float>(communicator.rank(), 1), 1);
      scheme.finish(weights);
      return text;
    });
  });
  CHECK(texts ==
        std::vector<std::string>(3, "syncopate: what rank 2 contributed to step 0 (bucket 1 of 2) is not finite"));
}

TEST_CASE("What travels is what the formula says, and the cheapest is chosen", "[engine][factors]") {
  // VGG-16's fully connected layers at 128 ranks and a batch of 256, and those of the example at 4 ranks and one of 512
  struct layer {
    std::size_t inputs, outputs;
    int ranks;
    std::size_t batch;
  };
  for (const layer& l : {layer{25088, 4096, 128, 256}, layer{4096, 4096, 128, 256}, layer{4096, 1000, 128, 256},
                         layer{784, 256, 4, 512}, layer{256, 128, 4, 512}, layer{128, 10, 4, 512}})
    for (const bool may_shard : {false, true}) {
      const double n = static_cast<double>(l.inputs), m = static_cast<double>(l.outputs), p = l.ranks,
                   b = static_cast<double>(l.batch);
      const auto choice = choose_factor_exchange({0, l.inputs, l.outputs, l.batch / static_cast<std::size_t>(l.ranks)},
                                                 l.ranks, may_shard, 0);
      const std::array<double, 3> words{2 * (p - 1) / p * n * m, (p - 1) / p * b * (n + m),
                                        (p - 1) / p * (n * b / p + m * b + n * m)};
      for (std::size_t way = 0; way < 3; ++way) CHECK(choice.words[way] == Approx(words[way]));
      const auto best = std::min_element(words.begin(), words.end() - (may_shard ? 0 : 1)) - words.begin();
      CHECK(static_cast<std::ptrdiff_t>(choice.exchange) == best + 1);
    }
  // fc6: 205.5 million words by all-reduce, 103.9 sharded, 7.5 replicated, before 127 of 128 of them travel
  const auto fc6 = choose_factor_exchange({0, 25088, 4096, 2}, 128, true, 1e-3);
  CHECK(fc6.words[0] == Approx(205.5e6 * 127 / 128).epsilon(1e-3));
  CHECK(fc6.words[1] == Approx(7.5e6 * 127 / 128).epsilon(5e-3));
  CHECK(fc6.words[2] == Approx(103.9e6 * 127 / 128).epsilon(1e-3));
  CHECK(fc6.exchange == factor_exchange::replicated);
  CHECK_THAT(fc6.text(), Catch::Matchers::StartsWith("replicated: 7"));
  // Where multiplying is dear, P products are dearer than the words they save.
  CHECK(choose_factor_exchange({0, 25088, 4096, 2}, 128, true, 1).exchange == factor_exchange::sharded);

  const auto bytes = on_ranks(3, [](thread_communicator communicator) {
    model<float> weights = zeros<float>();
    const auto per_step = [&](factor_exchange how, auto averaging) {
      update_scheme scheme{weights, communicator, fixed_delay{0}, averaging, factored(how)};
      step_by_factors(scheme, weights, mini_batch<float>(communicator.rank(), 0), 1);
      scheme.before_forward(0);
      scheme.before_forward(1);
      return scheme.statistics().bytes;
    };
    const gradient_averaging averaging{no_prediction{}, sgd{}};
    return std::pair(per_step(factor_exchange::replicated, averaging),
                     per_step(factor_exchange::sharded, sharded_averaging{averaging}));
  });
  constexpr std::size_t header = detail::header_elements, after = detail::block_header_elements;
  for (const auto& [replicated, shared] : bytes) {
    CHECK(replicated == 4 * 3 * (4 * (7 + 5) + header + 4 * (5 + 8) + header));
    CHECK(shared == 4 * 3 * ((4 * 5 + header + 4 * 3 + 3 * 5 + 2 + after) + (4 * 8 + header + 4 * 2 + 2 * 8 + after)));
  }
}

TEST_CASE("Factors that cannot be are refused, and the step goes on", "[engine][factors]") {
  model<float> weights = zeros<float>();
  const gradient_averaging averaging{no_prediction{}, sgd{.learning_rate = 1}};
  update_scheme scheme{weights, loopback{}, fixed_delay{0}, averaging, factored(factor_exchange::replicated)};
  const mini_batch<float> batch(0, 2);
  const auto told = [&](auto& activations, auto& errors) {
    return text_of<layout_error>([&] { scheme.factors_ready(0, activations, errors); });
  };
  CHECK(text_of<usage_error>([&] { scheme.step(weights, batch.gradient()); }) ==
        "syncopate: step was called, but layer 0 travels as its factors: hand them in by factors_ready");
  CHECK_THROWS_AS(scheme.factors_ready(0, batch.activations[0], batch.errors[0]), usage_error);
  scheme.begin_step(weights);
  CHECK(text_of<usage_error>([&] { scheme.gradient_ready(1, batch.gradient()[1]); }) ==
        "syncopate: gradient_ready was called, but layer 1 travels as its factors: hand them in by factors_ready");
  const std::vector<float> six(42), short_row(6), two(10), twelve(84), twelve_errors(60);
  CHECK(told(six, two) ==
        "syncopate: the factors of layer 0 are of different mini-batches: 6 rows of activations and 2 of errors");
  CHECK(told(short_row, two) ==
        "syncopate: the factors of layer 0 have 6 and 10 elements, which are no whole rows of 7 "
        "activations and 5 errors");
  CHECK(told(twelve, twelve_errors) ==
        "syncopate: the factors of layer 0 are of a mini-batch of 12 samples, but at most "
        "4 were announced");
  CHECK_THROWS_WITH(scheme.factors_ready(2, six, two), Catch::Matchers::Contains("there are 2 layers"));
  for (const std::size_t layer : {1u, 0u}) scheme.factors_ready(layer, batch.activations[layer], batch.errors[layer]);
  CHECK_THROWS_AS(scheme.factors_ready(0, batch.activations[0], batch.errors[0]), usage_error);
  scheme.end_step();
  scheme.finish(weights);
  auto expected = batch.gradient();
  for (auto& layer : expected)
    for (auto& tensor : layer)
      for (float& x : tensor) x = -x;
  CHECK(distance(weights, expected) < 1e-6);
}

TEST_CASE("Layers that cannot be factored are refused at construction", "[engine][factors]") {
  model<float> weights = zeros<float>();
  const gradient_averaging averaging{no_prediction{}, sgd{}};
  const auto refusal = [&](const scheme_options& options) {
    try {
      update_scheme{weights, loopback{}, fixed_delay{0}, averaging, options};
    } catch (const error& refused) {
      return std::string(refused.what());
    }
    return std::string("made");
  };
  using Catch::Matchers::Contains;
  const auto with = [](factored_layer layer) {
    return scheme_options{.factored_layers = {layer}, .product = plain_product()};
  };
  CHECK(refusal(with({0, 7, 5, 4})) == "made");
  CHECK_THAT(refusal(with({2, 7, 5, 4})), Contains("there is no such layer"));
  CHECK_THAT(refusal(with({0, 5, 8, 4})), Contains("factored layer 0 is no matrix of 5 x 8, alone or with a bias"));
  CHECK_THAT(refusal(with({0, 7, 5, 0})), Contains("factored_layer.largest_batch must be"));
  CHECK_THAT(refusal(with({0, 7, 5, 4, factor_exchange::sharded})), Contains("with a sharded_averaging only"));
  CHECK_THAT(refusal({.factored_layers = {{0, 7, 5, 4}}}), Contains("need scheme_options.product"));
  CHECK_THAT(refusal({.factored_layers = {{0, 7, 5, 4}, {0, 7, 5, 4}}, .product = plain_product()}),
             Contains("is given twice"));
  CHECK_THAT(refusal({.factored_layers = {{0, 7, 5, 4}}, .product = plain_product(), .words_per_operation = -1}),
             Contains("words_per_operation"));
  CHECK_THAT(refusal({.largest_norm = 1,
                      .clip = clipping::before_averaging,
                      .factored_layers = {{0, 7, 5, 4}},
                      .product = plain_product()}),
             Contains("has no gradient of one rank"));
  CHECK_THAT(text_of<configuration_error>([&] {
               dasgd(weights, loopback{}, sgd{}, {}, 0.25, with({0, 7, 5, 4}));
             }),
             Contains("needs an averaging and policies that use the mean gradient alone"));
}
