// What must not depend on how a model is cut into tensors, types and buckets.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cstddef>
#include <iterator>
#include <utility>
#include <vector>

#include "../support/training.hpp"
#include "syncopate/syncopate.hpp"

namespace {

using namespace support;
using namespace syncopate;

constexpr int steps = 6;
constexpr sgd rule{.learning_rate = 0.1, .momentum = 0.9};

TEMPLATE_TEST_CASE("Buckets of any size give the same weights, bitwise", "[laws]", float, double) {
  using W = model<TestType>;
  for (const rank_group& ranks : every_communicator()) {
    // MPI may sum messages of different lengths in different orders: with more than two ranks only integers are the
    // same in every order.
    const auto data = ranks.size > 2 ? exact_data(awkward_sizes, steps, uneven(ranks.size))
                                     : rough_data(awkward_sizes, steps, uneven(ranks.size));
    const auto same = [&](int delay, auto averaging) {
      const auto with = [&](std::size_t bucket_bytes) {
        return trajectories<TestType>(ranks, data,
                                      compiled::scheme<W>(warm_up{0, fixed_delay{delay}}, averaging,
                                                          scheme_options{.bucket_bytes = bucket_bytes}));
      };
      const auto expected = with(default_bucket_bytes);
      for (const std::size_t bytes : {std::size_t{0}, std::size_t{1}, 33 * sizeof(TestType), 1024 * sizeof(TestType)}) {
        INFO(ranks.name << ", buckets of " << bytes << " bytes");
        const auto got = with(bytes);
        for (std::size_t rank = 0; rank < got.size(); ++rank) CHECK(same_bits(got[rank], expected[rank]));
      }
    };
    const adaptive_exponential_smoothing per_tensor{tracking_signal{}, granularity::tensor},
        per_chunk{tracking_signal{}, granularity::chunk};
    same(1, gradient_averaging{per_tensor, rule});
    same(2, gradient_averaging{per_chunk, rule});
    same(2, lookahead_averaging{local_gradient{}, rule});
  }
  // Weights are no integers: only sums in the order of ranks, or of two, are the same.
  for (const rank_group& ranks : every_communicator()) {
    if (ranks.size > 2) continue;
    const auto data = rough_data(awkward_sizes, steps, uneven(ranks.size));
    const auto with = [&](std::size_t bucket_bytes) {
      return trajectories<TestType>(
          ranks, data,
          compiled::scheme<W>(periodic_delay{.period = 2, .delay = 1}, weight_averaging{blend{}, adamw{}},
                              scheme_options{.bucket_bytes = bucket_bytes}));
    };
    const auto expected = with(default_bucket_bytes), got = with(1);
    for (std::size_t rank = 0; rank < got.size(); ++rank) CHECK(same_bits(got[rank], expected[rank]));
  }
}

// With learning rate 1, from 0, the weights are minus the mean, as it is. The products are exact: nothing to contract.
TEMPLATE_TEST_CASE("The mean is the sum in the order of ranks by the number of samples", "[laws]", float, double) {
  for (const rank_group& ranks : every_communicator()) {
    if (ranks.name == "MPI" && ranks.size > 2) continue;  // sums in an order of its own
    INFO(ranks.name);
    auto data = rough_data(awkward_sizes, 1, uneven(ranks.size));
    std::ranges::fill(data.start, 0);
    const auto got =
        trajectories<TestType>(ranks, data, compiled::synchronous_sgd<model<TestType>>(sgd{.learning_rate = 1}));
    record expected;
    for (std::size_t i = 0; i < data.start.size(); ++i) {
      TestType sum = 0;
      for (std::size_t rank = 0; rank < got.size(); ++rank)
        sum += static_cast<TestType>(data.samples[rank]) * static_cast<TestType>(data.gradients[rank][0][i]);
      expected.push_back(0 - sum / static_cast<TestType>(data.total_samples()));
    }
    for (const record& one : got) CHECK(record(one.begin(), one.begin() + std::ssize(expected)) == expected);
  }
}

TEST_CASE("A model of floats and doubles trains as two schemes would", "[laws]") {
  for (const rank_group& ranks : every_communicator()) {
    INFO(ranks.name);
    const auto data = rough_data({3, 600, 0, 17}, steps, even(ranks.size));
    const auto same = [&](const maker<model<float>>& make_of_floats, const maker<model<double>>& make_of_doubles,
                          const maker<mixed_model>& make_of_both) {
      const auto noted = ranks.run([&](any_communicator communicator) {
        const auto rank = static_cast<std::size_t>(communicator.rank());
        auto floats = model_of<float>(data, data.start);
        auto doubles = model_of<double>(data, data.start);
        mixed_model mixed(floats, doubles);
        auto of_floats = make_of_floats(floats, communicator.duplicate());
        auto of_doubles = make_of_doubles(doubles, communicator.duplicate());
        auto of_both = make_of_both(mixed, communicator.duplicate());
        record apart, together;
        for (const auto& values : data.gradients[rank]) {
          const auto g = model_of<float>(data, values);
          auto h = model_of<double>(data, values);
          for (auto& tensor : h) std::ranges::reverse(tensor);
          of_floats.step(floats, g);
          of_doubles.step(doubles, h);
          of_both.step(mixed, {g, h});
          append(apart, floats), append(apart, doubles);
          append(together, mixed.first), append(together, mixed.second);
        }
        of_floats.finish(floats), of_doubles.finish(doubles), of_both.finish(mixed);
        append(apart, floats), append(apart, doubles);
        append(together, mixed.first), append(together, mixed.second);
        return record{same_bits(apart, together) ? 1.0 : 0.0,
                      of_both.statistics().absorbed == of_floats.statistics().absorbed ? 1.0 : 0.0};
      });
      for (const record& one : noted) CHECK(one == record{1, 1});
    };
    same(compiled::pseudo_synchronous_sgd<model<float>>(rule), compiled::pseudo_synchronous_sgd<model<double>>(rule),
         compiled::pseudo_synchronous_sgd<mixed_model>(rule));
    same(compiled::lookahead_sgd<model<float>>(adamw{}, blended_gradient{}, 2),
         compiled::lookahead_sgd<model<double>>(adamw{}, blended_gradient{}, 2),
         compiled::lookahead_sgd<mixed_model>(adamw{}, blended_gradient{}, 2));
    same(compiled::dasgd<model<float>>(rule), compiled::dasgd<model<double>>(rule), compiled::dasgd<mixed_model>(rule));
  }
}

TEMPLATE_TEST_CASE("A model without elements trains, too", "[laws]", float, double) {
  for (const rank_group& ranks : every_communicator())
    for (const std::vector<std::size_t>& sizes : {std::vector<std::size_t>{}, {0}, {0, 0}}) {
      INFO(ranks.name << ", " << sizes.size() << " tensors");
      const auto data = rough_data(sizes, steps, even(ranks.size));
      const auto trains = [&](const maker<model<TestType>>& make) {
        for (const record& one : trajectories<TestType>(ranks, data, make)) CHECK(one.empty());
      };
      trains(compiled::pseudo_synchronous_sgd<model<TestType>>(rule));
      trains(compiled::lookahead_sgd<model<TestType>>(rule));
      trains(compiled::dasgd<model<TestType>>(rule));
    }
}

TEMPLATE_TEST_CASE("A rank without samples contributes nothing, and trains along", "[laws]", float, double) {
  for (const rank_group& ranks : every_communicator()) {
    if (ranks.size < 2) continue;
    INFO(ranks.name);
    std::vector<double> samples = even(ranks.size);
    samples[1] = 0;
    auto data = exact_data({20}, steps, samples);
    const auto run = [&] {
      return trajectories<TestType>(
          ranks, data,
          compiled::pseudo_synchronous_sgd<model<TestType>>(sgd{.learning_rate = 0.125}, exponential_smoothing{}));
    };
    const auto expected = run();
    for (auto& gradient : data.gradients[1]) std::ranges::fill(gradient, 1e6);
    const auto got = run();
    for (const record& one : got) CHECK(one == expected[0]);
    CHECK(record(expected[0].end() - 20, expected[0].end()) != data.start);
  }
}

}  // namespace
