// Updates whose work ranks share.
#include <algorithm>
#include <array>
#include <bit>
#include <catch2/catch.hpp>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <syncopate/communicators/faulty.hpp>
#include <syncopate/communicators/thread_team.hpp>
#include <syncopate/detail/exchange/block_header.hpp>
#include <syncopate/syncopate.hpp>
#include <vector>

#include "../support/ranks.hpp"
#include "text_of.hpp"

using namespace syncopate;
using support::on_ranks;
using support::outcome;
using support::outcomes_on_ranks;
using support::text_of;

namespace {

template <class T>
using model = std::vector<std::vector<T>>;

template <class T>
model<T> numbers(std::size_t seed) {
  model<T> tensors;
  for (const std::size_t size : {7u, 0u, 130u, 1u, 64u, 2u}) {
    auto& tensor = tensors.emplace_back(size);
    for (T& x : tensor)
      x = static_cast<T>(static_cast<int>((seed = seed * 1103515245 + 12345) / 65536 % 2001) - 1000) / 700;
  }
  return tensors;
}

constexpr std::size_t all_elements = 204;

}  // namespace

TEMPLATE_TEST_CASE("Shared work leads to bitwise the weights of synchronous training", "[engine][sharding]", float,
                   double) {
  const int ranks = GENERATE(1, 2, 3, 4, 5);
  const std::size_t bucket_bytes = GENERATE(0u, 100u, 1u << 20);
  const double norm = GENERATE(0., 1e6);
  scheme_options options{.bucket_bytes = bucket_bytes};
  if (norm > 0) options.largest_norm = norm;
  const auto same = on_ranks(ranks, [&](thread_communicator communicator) {
    const auto train = [&](auto make) {
      auto weights = numbers<TestType>(3);
      auto scheme = make(weights);
      for (std::size_t step = 0; step < 6; ++step)
        scheme.step(weights, numbers<TestType>(step * 10 + static_cast<std::size_t>(communicator.rank())),
                    communicator.rank() == 0 ? 3 : 1);
      scheme.finish(weights);
      scheme.checksum(weights);
      return weights;
    };
    const adamw rule{.learning_rate = 0.1};
    return train([&](auto& weights) { return sharded_sgd(weights, communicator, rule, options); }) ==
           train([&](auto& weights) { return synchronous_sgd(weights, communicator, rule, options); });
  });
  CAPTURE(ranks, bucket_bytes, norm);
  CHECK(same == std::vector<bool>(static_cast<std::size_t>(ranks), true));
}

TEST_CASE("Each rank keeps the state of its own part only", "[engine][sharding]") {
  const int ranks = GENERATE(1, 2, 3, 4, 5);
  const auto kept = on_ranks(ranks, [&](thread_communicator communicator) {
    auto weights = numbers<float>(0);
    return sharded_sgd(weights, communicator, adamw{}).memory();
  });
  const std::size_t part = (all_elements + static_cast<std::size_t>(ranks) - 1) / static_cast<std::size_t>(ranks);
  for (const memory_report& report : kept) {
    CHECK(report.rule == 2 * part * sizeof(float));
    CHECK(report.weights == part * sizeof(float));
  }
}

TEST_CASE("Parts that arrive change no weights before the forward pass comes to them", "[engine][sharding]") {
  const auto right = on_ranks(3, [&](thread_communicator communicator) {
    auto weights = numbers<float>(3), expected = weights;
    const auto gradients = numbers<float>(5);
    auto other = synchronous_sgd(expected, communicator, sgd{.learning_rate = 0.5});
    auto scheme = sharded_sgd(weights, communicator, sgd{.learning_rate = 0.5}, {.bucket_bytes = 0});
    bool good = true;
    for (int step = 0; step < 20; ++step) {
      const auto before = weights;
      scheme.begin_step(weights);
      for (std::size_t layer = weights.size(); layer-- > 0;) scheme.gradient_ready(layer, gradients[layer]);
      good = good && weights == before;
      scheme.end_step();
      for (int time = 0; time < 100; ++time) scheme.poll();
      good = good && weights == before;
      other.step(expected, gradients);
      for (const std::size_t layer : {0u, 5u, 2u, 1u, 3u, 4u}) {
        scheme.before_forward(layer);
        good = good && weights[layer] == expected[layer];
        for (std::size_t later = 0; later < weights.size(); ++later) scheme.poll();
      }
    }
    scheme.finish(weights);
    return good && weights == expected;
  });
  CHECK(right == std::vector{true, true, true});
}

TEST_CASE("A gradient that is not finite is refused on all ranks, which name the one that had it",
          "[engine][sharding]") {
  const bool layers = GENERATE(false, true);
  const auto texts = on_ranks(3, [&](thread_communicator communicator) {
    auto weights = numbers<float>(3), gradients = numbers<float>(4);
    const auto before = weights;
    auto scheme = sharded_sgd(weights, communicator, sgd{}, {.bucket_bytes = 0});
    if (communicator.rank() == 1) gradients[2][77] = std::numeric_limits<float>::infinity();
    std::string text = text_of<non_finite_error>([&] {
      if (!layers) return scheme.step(weights, gradients);
      scheme.begin_step(weights);
      for (std::size_t layer = weights.size(); layer-- > 0;) scheme.gradient_ready(layer, gradients[layer]);
      scheme.end_step();
      scheme.before_forward(0);
    });
    if (weights != before) text += "; and weights have changed";
    scheme.step(weights, numbers<float>(5));
    scheme.finish(weights);
    if (weights == before) text += "; and weights have not changed afterwards";
    return text;
  });
  CHECK(texts ==
        std::vector<std::string>(3, "syncopate: what rank 1 contributed to step 0 (bucket 3 of 6) is not finite"));
}

TEST_CASE("Work is shared at a delay, too, by parts with policies that know more than the mean", "[engine][sharding]") {
  const auto differences = on_ranks(3, [&](thread_communicator communicator) {
    const auto train = [&](auto averaging) {
      auto weights = numbers<double>(3);
      update_scheme scheme{weights, communicator, fixed_delay{2}, averaging, {.bucket_bytes = 300}};
      for (std::size_t step = 0; step < 8; ++step)
        scheme.step(weights, numbers<double>(step * 10 + static_cast<std::size_t>(communicator.rank())));
      scheme.finish(weights);
      return weights;
    };
    const gradient_averaging averaging{delay_compensation{}, sgd{.learning_rate = 0.1, .momentum = 0.5}};
    return train(averaging) != train(sharded_averaging{averaging});
  });
  CHECK(differences == std::vector{false, false, false});
}

TEST_CASE("What ranks say is summed for each block, and gathered", "[engine][sharding]") {
  using detail::calls;
  const std::int64_t step = GENERATE(0, 15, 16, std::int64_t{1} << 40);
  const std::size_t header = GENERATE(detail::header_elements, detail::observing_header_elements),
                    length = header + detail::block_sums, stride = 3 + length;
  std::vector<float> message(4 * stride);
  const auto header_in = [&](auto& where, std::size_t block) {
    return std::span<float>(where).subspan(block * stride + 3, length);
  };
  const auto own = [&](std::size_t rank) {
    return detail::header{step, rank == 3 ? calls::join : calls::step, rank != 2, rank == 3 ? 0 : 2.5};
  };
  std::vector<float> sum(length), one(length);
  for (std::size_t rank = 0; rank < 4; ++rank) {
    detail::write_summed_header(std::span<float>(one), own(rank));
    std::ranges::transform(sum, one, sum.begin(), std::plus());
  }
  const auto summed = detail::read_summed_header(std::span<const float>(sum), 4);
  CHECK(summed.samples == 7.5);
  CHECK_FALSE(summed.all_joined);
  CHECK(!summed.finite);
  const auto read = [&](auto& from) {
    return detail::read_gathered_headers(std::span<const float>(from).subspan(3), header, stride, 4, step);
  };
  for (std::size_t rank = 0; rank < 4; ++rank)
    detail::write_gathered_header(header_in(message, rank), own(rank), summed, 7);
  CHECK(read(message).not_finite_rank == 2);
  CHECK(read(message).samples == 7.5);

  // A rank that is elsewhere, or sums that were damaged, are seen before weights are updated, or after, by all.
  auto elsewhere = sum;
  detail::write_summed_header(std::span<float>(one), {step + 1, calls::step, true, 1});
  std::ranges::transform(elsewhere, one, elsewhere.begin(), std::plus());
  CHECK(detail::read_summed_header(std::span<const float>(elsewhere), 5).samples == 0);
  for (std::size_t element = 0; element < header + 2; ++element) {
    auto altered = message;
    header_in(altered, 1)[element] += 1;
    CHECK_THROWS_WITH(read(altered),
                      Catch::Matchers::Contains("rank 1") && Catch::Matchers::Contains("arrived damaged"));
  }
}

TEST_CASE("Damage to what ranks say never leads to other weights", "[engine][sharding]") {
  const auto seed = static_cast<std::uint64_t>(GENERATE(range(0, 60)));
  std::vector<model<float>> reached(3);
  const auto outcomes = outcomes_on_ranks(thread_team{3}, [&](thread_communicator communicator) {
    const fault_plan plan{.fault = planned_fault::corrupted_header, .seed = seed, .rank = 1, .operation = 9};
    faulty_communicator faulty{communicator, plan};
    auto weights = numbers<float>(3);
    auto scheme = sharded_sgd(weights, faulty, sgd{}, {.bucket_bytes = 100});
    model<float> good = weights;
    try {
      for (std::size_t step = 0; step < 10; ++step) {
        scheme.step(weights, numbers<float>(step));
        good = weights;
      }
    } catch (...) {
      reached[static_cast<std::size_t>(communicator.rank())] = weights;
      throw;
    }
    reached[static_cast<std::size_t>(communicator.rank())] = good;
  });
  // A lone bit of a sample count may go unnoticed if it is as small as rounding.
  const bool any = std::ranges::any_of(outcomes, [](const outcome& o) { return o.kind != outcome::returned; });
  for (const outcome& o : outcomes) {
    CAPTURE(seed, o.text);
    CHECK((o.kind != outcome::returned) == any);
    CHECK(o.kind != outcome::other);
  }
}
