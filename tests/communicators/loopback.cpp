#include "syncopate/communicators/loopback.hpp"

#include <array>
#include <catch2/catch.hpp>
#include <cstddef>
#include <span>
#include <vector>

#include "syncopate/concepts.hpp"

static_assert(syncopate::ShardingCommunicator<syncopate::loopback, float>);
static_assert(syncopate::ShardingCommunicator<syncopate::loopback, double>);

TEMPLATE_TEST_CASE("A sum over one rank is what it put in, at once", "[loopback]", float, double) {
  syncopate::loopback alone;
  CHECK(alone.rank() == 0);
  CHECK(alone.size() == 1);

  std::vector<TestType> values{1, TestType(0.1), -3};
  const auto before = values;
  auto request = alone.start_sum(std::span(values));
  CHECK(request.test());
  request.wait();
  CHECK(values == before);
  CHECK(alone.start_reduce_scatter(std::span(values)).test());
  CHECK(alone.start_all_gather(std::span(values)).test());
  CHECK(alone.start_all_to_all(std::span(values)).test());
  CHECK(values == before);
  CHECK(alone.duplicate().start_sum(std::span<TestType>()).test());
}

TEST_CASE("One rank gathers its own bytes and keeps what it broadcasts", "[loopback]") {
  syncopate::loopback alone;
  const std::array own{std::byte{1}, std::byte{2}, std::byte{3}};
  std::array<std::byte, 3> all{};
  alone.all_gather(own, all);
  CHECK(all == own);
  alone.broadcast(all, 0);
  CHECK(all == own);
}
