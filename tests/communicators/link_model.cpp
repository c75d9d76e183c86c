#include "syncopate/communicators/link_model.hpp"

#include <catch2/catch.hpp>
#include <limits>

#include "syncopate/communicators/thread_team.hpp"

using syncopate::link_model;

TEST_CASE("A ring all-reduce takes 2(P - 1) rounds of a P-th part", "[link_model]") {
  const link_model link{.gigabits_per_second = 1, .latency_microseconds = 50};

  // 16 MB over 4 ranks: 6 rounds of 4 MB, 32 ms each at 125 MB/s
  CHECK(link.all_reduce_seconds(16'000'000, 4) == Approx(6 * (0.032 + 50e-6)).epsilon(1e-12));
  CHECK(link.all_reduce_seconds(16'000'000, 2) == Approx(2 * (0.064 + 50e-6)).epsilon(1e-12));
  CHECK(link.all_reduce_seconds(0, 3) == Approx(4 * 50e-6).epsilon(1e-12));
  CHECK(link.all_reduce_seconds(16'000'000, 1) == 0);
}

TEST_CASE("Links that make no sense are refused", "[link_model]") {
  const double infinity = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  const auto refused = [](link_model link) {
    CHECK_THROWS_AS(link.validate(), syncopate::configuration_error);
    CHECK_THROWS_AS(syncopate::thread_team(2, link), syncopate::configuration_error);
  };
  for (const double bandwidth : {0., -1., infinity, -infinity, nan}) refused({.gigabits_per_second = bandwidth});
  for (const double latency : {-1e-9, infinity, -infinity, nan}) refused({.latency_microseconds = latency});

  CHECK_NOTHROW(link_model{}.validate());
  CHECK_NOTHROW(syncopate::thread_team(2, link_model{.gigabits_per_second = 1e-3, .latency_microseconds = 0}));
}

TEST_CASE("A refusal names the number and what it was", "[link_model]") {
  using Catch::Matchers::Contains;
  CHECK_THROWS_WITH((link_model{.gigabits_per_second = -2}.validate()),
                    Contains("gigabits_per_second") && Contains("-2"));
  CHECK_THROWS_WITH((link_model{.latency_microseconds = -3}.validate()),
                    Contains("latency_microseconds") && Contains("-3"));
}
