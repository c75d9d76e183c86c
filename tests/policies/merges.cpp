#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <syncopate/merges/blend.hpp>
#include <syncopate/merges/replace.hpp>
#include <syncopate/merges/two_parameter_merge.hpp>

#include "random_values.hpp"

using namespace syncopate;

static_assert(Merge<replace, float> && Merge<replace, double>);
static_assert(Merge<blend, float> && Merge<blend, double>);
static_assert(Merge<two_parameter_merge, float> && Merge<two_parameter_merge, double>);

// Only the merge that uses the snapshot pays for it.
static_assert(!detail::keeps_own<replace> && !detail::keeps_own<blend> && detail::keeps_own<two_parameter_merge>);

static_assert(replace{}.merge(8.0, landed<double>{.mean = 4, .staleness = 1}) == 4);
static_assert(blend{.own_share = 0.25}.merge(8.0, landed<double>{.mean = 4, .staleness = 1}) == 5);
static_assert(two_parameter_merge{.local_progress = 0.5, .disagreement = 0.25}.merge(
                  10.0, landed<double>{.mean = 4, .own = 8, .staleness = 2}) == 4 + 0.25 * 4 + 0.5 * 2);

namespace {

template <class T>
struct arrival {
  T weight;
  landed<T> m;
};

template <class T>
std::vector<arrival<T>> arrivals(int staleness) {
  random_values<T> draw(1);
  std::vector<arrival<T>> result;
  for (int i = 0; i < 1000; ++i)
    result.push_back({draw(), landed<T>{.mean = draw(), .own = draw(), .staleness = staleness}});
  return result;
}

/// All numbers are at most 1 in size and their differences at most 2; a merge rounds at most 6 times.
template <class T>
constexpr T bound = 12 * std::numeric_limits<T>::epsilon();

}  // namespace

TEMPLATE_TEST_CASE("merges equal their formulas", "[merge]", float, double) {
  const double xi = 0.3, theta = 0.8;
  for (const auto& [weight, m] : arrivals<TestType>(2)) {
    const double w = double{weight}, a = double{m.mean}, snapshot = double{m.own};
    CHECK(std::abs(double{blend{.own_share = xi}.merge(weight, m)} - (xi * w + (1 - xi) * a)) <=
          double{bound<TestType>});
    CHECK(std::abs(double{two_parameter_merge{theta, xi}.merge(weight, m)} -
                   (a + theta * (w - snapshot) + xi * (snapshot - a))) <= double{bound<TestType>});
    CHECK(replace{}.merge(weight, m) == m.mean);
  }
}

TEMPLATE_TEST_CASE("the two-parameter merge contains the others", "[merge]", float, double) {
  for (const auto& [weight, m] : arrivals<TestType>(1)) {
    CHECK(std::abs(two_parameter_merge{1, 1}.merge(weight, m) - weight) <= bound<TestType>);
    CHECK(std::abs(two_parameter_merge{1, 0}.merge(weight, m) - (m.mean + (weight - m.own))) <= bound<TestType>);
    CHECK(two_parameter_merge{0, 0}.merge(weight, m) == m.mean);
    for (const double share : {0.0, 0.25, 0.5, 1.0})
      CHECK(std::abs(two_parameter_merge{share, share}.merge(weight, m) - blend{share}.merge(weight, m)) <=
            bound<TestType>);
  }
}

TEMPLATE_TEST_CASE("a blend that keeps all is no communication, one that keeps nothing replaces", "[merge]", float,
                   double) {
  for (const auto& [weight, m] : arrivals<TestType>(1)) {
    CHECK(std::abs(blend{.own_share = 1}.merge(weight, m) - weight) <= bound<TestType>);
    CHECK(blend{.own_share = 0}.merge(weight, m) == m.mean);
  }
}

TEMPLATE_TEST_CASE("a fresh mean replaces the weights, whatever the merge", "[merge]", float, double) {
  for (const auto& [weight, m] : arrivals<TestType>(0)) {
    CHECK(replace{}.merge(weight, m) == m.mean);
    CHECK(blend{.own_share = 0.7}.merge(weight, m) == m.mean);
    CHECK(two_parameter_merge{.local_progress = 0.9, .disagreement = 0.4}.merge(weight, m) == m.mean);
  }
}
