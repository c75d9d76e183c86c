// A gradient with an infinity or a NaN on one rank.
#include <catch2/catch.hpp>
#include <cmath>
#include <cstddef>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "../support/every_scheme.hpp"
#include "../support/training.hpp"
#include "syncopate/error.hpp"

namespace {

using namespace support;
using syncopate::non_finite;

constexpr int steps = 9, bad_step = 4;

/// Weights at the end, then how many means were skipped, then the steps that threw `non_finite_error` (−1: other text).
/// At `bad_step` the last rank's gradient is not finite in one element, or, if `skipped`, no rank has samples there.
template <class T>
std::vector<record> run(const rank_group& ranks, const training_data& data, const maker<model<T>>& make, T bad,
                        bool skipped = false) {
  return ranks.run([&](any_communicator communicator) {
    const int rank = communicator.rank(), last = communicator.size() - 1;
    model<T> weights = model_of<T>(data, data.start);
    record refused;
    auto scheme = make(weights, std::move(communicator));
    const auto tried = [&](int step, auto work) {
      try {
        work();
      } catch (const syncopate::non_finite_error& error) {
        const std::string expected = "what rank " + std::to_string(last) + " contributed to step ";
        refused.push_back(std::string(error.what()).find(expected) != std::string::npos ? step : -1);
      }
    };
    for (int step = 0; step < steps; ++step) {
      auto gradients =
          model_of<T>(data, data.gradients[static_cast<std::size_t>(rank)][static_cast<std::size_t>(step)]);
      const bool here = step == bad_step;
      if (here && !skipped && rank == last) gradients[1][3] = bad;
      tried(step, [&] { scheme.step(weights, gradients, here && skipped ? 0 : 1); });
    }
    tried(steps, [&] { scheme.finish(weights); });
    record noted;
    append(noted, weights);
    noted.push_back(static_cast<double>(scheme.statistics().skipped));
    noted.insert(noted.end(), refused.begin(), refused.end());
    return noted;
  });
}

template <class T>
std::vector<T> not_finite() {
  return {std::numeric_limits<T>::infinity(), -std::numeric_limits<T>::infinity(), std::numeric_limits<T>::quiet_NaN(),
          std::numeric_limits<T>::signaling_NaN()};
}

TEMPLATE_TEST_CASE("A gradient that is not finite is skipped by all ranks at the same step", "[laws][non_finite]",
                   float, double) {
  for (const rank_group& ranks : every_communicator()) {
    const auto data = rough_data({0, 17, 700}, steps, even(ranks.size));
    for (const auto& [name, make] :
         every_scheme_with<model<TestType>>({.bucket_bytes = 100, .non_finite_gradients = non_finite::skip})) {
      if (name == "weights") continue;  // there only the rank itself leaves a step out
      const auto expected = run<TestType>(ranks, data, make, 0, true);
      for (const TestType bad : not_finite<TestType>()) {
        INFO(ranks.name << ", " << name << ", " << bad);
        const auto got = run<TestType>(ranks, data, make, bad);
        for (std::size_t rank = 0; rank < got.size(); ++rank) {
          record without_skip = expected[rank];
          without_skip[data.start.size()] = 1;
          CHECK(same_bits(got[rank], without_skip));
        }
      }
    }
  }
}

TEMPLATE_TEST_CASE("A gradient that is not finite is refused on all ranks at the step that would absorb it",
                   "[laws][non_finite]", float, double) {
  for (const rank_group& ranks : every_communicator()) {
    const auto data = rough_data({0, 17, 700}, steps, even(ranks.size));
    const auto schemes = every_scheme_with<model<TestType>>({.bucket_bytes = 100});
    // bad_step + delay; of weights, the message of step 7, 2 later
    const std::vector<double> refused_at{4, 6, 5, 7, 4, 9};
    REQUIRE(refused_at.size() == schemes.size());
    for (std::size_t s = 0; s < schemes.size(); ++s) {
      const auto& [name, make] = schemes[s];
      const auto expected = run<TestType>(ranks, data, make, 0, true);
      for (const TestType bad : not_finite<TestType>()) {
        INFO(ranks.name << ", " << name << ", " << bad);
        const auto got = run<TestType>(ranks, data, make, bad);
        for (std::size_t rank = 0; rank < got.size(); ++rank) {
          CHECK(got[rank].back() == refused_at[s]);
          CHECK(got[rank].size() == data.start.size() + 2);
          for (std::size_t i = 0; i < data.start.size(); ++i) REQUIRE(std::isfinite(got[rank][i]));
          if (name == "weights") continue;
          record absorbed_the_rest = expected[rank];
          absorbed_the_rest.push_back(refused_at[s]);
          CHECK(same_bits(got[rank], absorbed_the_rest));
        }
      }
    }
  }
}

TEMPLATE_TEST_CASE("A local step that is not finite is left out on its rank", "[laws][non_finite]", float, double) {
  for (const rank_group& ranks : every_communicator()) {
    const auto data = rough_data({0, 17, 700}, steps, even(ranks.size));
    const auto make = every_scheme_with<model<TestType>>({.non_finite_gradients = non_finite::skip}).back().second;
    for (const TestType bad : not_finite<TestType>()) {
      const auto got = run<TestType>(ranks, data, make, bad);
      for (std::size_t rank = 0; rank < got.size(); ++rank) {
        INFO(ranks.name << ", " << bad);
        CHECK(got[rank].back() == (rank + 1 == got.size() ? 1 : 0));
        for (std::size_t i = 0; i < data.start.size(); ++i) REQUIRE(std::isfinite(got[rank][i]));
        for (std::size_t i = 0; i < data.start.size(); ++i) REQUIRE(got[rank][i] == got[0][i]);
      }
    }
  }
}

}  // namespace
