#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <syncopate/syncopate.hpp>
#include <thread>
#include <utility>
#include <vector>

#include "../support/ranks.hpp"
#include "named_schemes.hpp"
#include "no_landing_time.hpp"

using namespace syncopate;

TEST_CASE("Messages and bytes are counted exactly", "[engine][statistics]") {
  std::vector<std::vector<double>> weights{std::vector<double>(10), std::vector<double>(3)}, gradients = weights;
  const auto counts = [&](auto scheme) {
    for (int step = 0; step < 11; ++step) scheme.step(weights, gradients);
    const statistics before = scheme.statistics();
    scheme.finish(weights);
    const statistics after = scheme.statistics();
    CHECK(before.steps == 11);
    CHECK(after.steps == 11);
    CHECK(after.launched == before.launched);
    CHECK(after.absorbed == after.launched);
    CHECK(after.bytes == before.bytes);
    return std::vector{before.launched, before.absorbed, static_cast<std::int64_t>(before.bytes)};
  };
  using list = std::vector<std::int64_t>;
  constexpr std::int64_t message = (10 + 3 + 1) * sizeof(double);  // the last element counts samples
  const loopback alone;
  CHECK(counts(synchronous_sgd(weights, alone, sgd{})) == list{11, 11, 11 * message});
  CHECK(counts(pseudo_synchronous_sgd(weights, alone, sgd{})) == list{11, 10, 11 * message});
  CHECK(counts(lookahead_sgd(weights, alone, sgd{}, local_gradient{}, 4)) == list{11, 7, 11 * message});
  CHECK(counts(lookahead_sgd(weights, alone, sgd{}, local_gradient{}, 40)) == list{11, 0, 11 * message});
  CHECK(counts(od_sgd(weights, alone, sgd{}, 5)) == list{11, 10, 11 * message});
  CHECK(counts(od_sgd(weights, alone, sgd{})) == list{11, 11, 11 * message});  // still warming up
  CHECK(counts(dasgd(weights, alone, sgd{}, {.period = 5, .delay = 3})) == list{2, 1, 2 * message});
  CHECK(counts(dasgd(weights, alone, sgd{}, {.period = 3, .delay = 3})) == list{3, 2, 3 * message});
  CHECK(counts(local_sgd(weights, alone, sgd{}, 2)) == list{5, 5, 5 * message});
  // A bucket per tensor: two messages count as one, but each counts samples.
  CHECK(counts(update_scheme{weights, alone, fixed_delay{1}, gradient_averaging{no_prediction{}, sgd{}},
                             std::size_t{1}}) == list{11, 10, 11 * (message + 8)});
}

TEST_CASE("A rank is never blocked for longer than something is in flight", "[engine][statistics]") {
  struct measured {
    std::string name;
    statistics taken;
  };
  const auto on_both = [](auto make_communicator) {
    return support::on_ranks(2, [&](thread_communicator communicator) {
      std::vector<measured> all;
      std::vector<float> weights(5000), gradients(5000);
      support::for_each_named_scheme(weights, make_communicator(communicator), [&](std::string name, auto scheme) {
        for (int step = 0; step < 200; ++step) scheme.step(weights, gradients);
        all.push_back({name, scheme.statistics()});
        scheme.finish(weights);
        all.push_back({name + ", finished", scheme.statistics()});
      });
      return all;
    });
  };
  const auto check = [](const std::vector<std::vector<measured>>& ranks) {
    for (const auto& rank : ranks)
      for (const auto& [name, taken] : rank) {
        INFO(name << ": " << taken.exposed.count() << " of " << taken.communication.count());
        CHECK(taken.communication.count() > 0);
        CHECK(taken.exposed.count() > 0);
        CHECK(taken.exposed <= taken.communication);
      }
  };
  check(on_both([](thread_communicator c) { return c; }));
  check(on_both([](thread_communicator c) { return support::no_landing_time(c); }));
}

namespace {

/// The hidden fraction on a link that takes 5 ms for a sum, over which both ranks compute (sleep) for 10 ms per step.
template <class Make>
std::vector<double> hidden_fractions(Make make) {
  return support::on_ranks(thread_team{2, link_model{.gigabits_per_second = 100, .latency_microseconds = 2500}},
                           [&](thread_communicator communicator) {
                             std::vector<float> weights(10), gradients(10);
                             auto scheme = make(weights, communicator);
                             for (int step = 0; step < 20; ++step) {
                               std::this_thread::sleep_for(std::chrono::milliseconds(10));
                               scheme.step(weights, gradients);
                             }
                             return scheme.statistics().hidden_fraction();
                           });
}

}  // namespace

TEST_CASE("The hidden fraction tells what was hidden", "[engine][statistics]") {
  // A synchronous rank is blocked from the launch to the landing but for its own bookkeeping, microseconds, and for
  // what the system's scheduler takes in between.
  for (const double hidden : hidden_fractions([](auto&w, auto c) { return synchronous_sgd(w, c, sgd{}); })) {
    CHECK(hidden >= 0);
    CHECK(hidden < 0.1);
  }
  for (const double hidden : hidden_fractions([](auto&w, auto c) { return lookahead_sgd(w, c, sgd{}); }))
    CHECK(hidden >= 0.9);
  for (const double hidden : hidden_fractions([](auto&w, auto c) { return pseudo_synchronous_sgd(w, c, sgd{}); }))
    CHECK(hidden >= 0.9);
}

namespace {

/// A communicator that makes progress only where it is asked, for 1 ms.
struct sums_when_tested : loopback {
  struct request {
    bool test() {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      landed = std::chrono::steady_clock::now();
      return true;
    }
    void wait() { test(); }
    std::chrono::steady_clock::time_point landed_at() const { return landed; }

    std::chrono::steady_clock::time_point landed{};
  };

  static sums_when_tested duplicate() { return {}; }
  template <Element T>
  static request start_sum(std::span<T>) {
    return {};
  }
};

}  // namespace

TEST_CASE("What a test of an awaited message takes is exposed, and of another one is not", "[engine][statistics]") {
  std::vector<float> weights(3), gradients(3);
  const auto measured = [&](auto scheme, bool polls) {
    for (int step = 0; step < 20; ++step) {
      scheme.step(weights, gradients);
      if (polls) scheme.poll();
    }
    const statistics taken = scheme.statistics();
    CHECK(taken.exposed <= taken.communication);
    return taken;
  };
  const std::chrono::milliseconds all{20};
  CHECK(measured(synchronous_sgd(weights, sums_when_tested{}, sgd{}), false).exposed >= all);
  CHECK(measured(pseudo_synchronous_sgd(weights, sums_when_tested{}, sgd{}), true).exposed < all / 2);
}

TEST_CASE("Nothing communicated is nothing exposed", "[engine][statistics]") {
  std::vector<float> weights(3);
  auto scheme = dasgd(weights, loopback{}, sgd{});
  CHECK(scheme.statistics().steps == 0);
  CHECK(scheme.statistics().hidden_fraction() == 1);
  scheme.step(weights, std::vector<float>(3));
  CHECK(scheme.statistics().communication.count() == 0);
  CHECK(scheme.statistics().hidden_fraction() == 1);
}
