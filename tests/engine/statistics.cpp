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
#include "../support/training.hpp"
#include "named_schemes.hpp"
#include "syncopate/detail/exchange/header.hpp"

using namespace syncopate;

namespace {

using support::any_communicator;
using support::model;

/// A scheme on the threads themselves, whose requests tell when they landed, and one whose communicator does not tell.
template <class Visitor>
void for_both_kinds(thread_communicator communicator, model<float>& weights, Visitor visit) {
  visit("synchronous_sgd", synchronous_sgd(weights, communicator, sgd{}));
  visit("lookahead_sgd", lookahead_sgd(weights, communicator, sgd{}, local_gradient{}, 3));
  visit("dasgd", dasgd(weights, communicator, sgd{}));
  for (const auto& [name, make] : support::named_schemes<model<float>>())
    visit(name + ", not told", make(weights, any_communicator(communicator)));
}

}  // namespace

TEST_CASE("Messages and bytes are counted exactly", "[engine][statistics]") {
  using W = model<double>;
  W weights{std::vector<double>(10), std::vector<double>(3)};
  const W gradients = weights;
  const auto counts = [&](const support::maker<W>& make) {
    auto scheme = make(weights, any_communicator(loopback{}));
    for (int step = 0; step < 11; ++step) scheme.step(weights, gradients);
    const statistics before = scheme.statistics();
    scheme.finish(weights);
    const statistics after = scheme.statistics();
    CHECK(before.steps == 11);
    CHECK(after.steps == 11);
    CHECK(after.launched == before.launched);
    CHECK(after.absorbed == after.launched);
    CHECK(after.bytes == before.bytes + before.bytes / static_cast<std::uint64_t>(before.launched));  // that of finish
    return std::vector{before.launched, before.absorbed, static_cast<std::int64_t>(before.bytes)};
  };
  using list = std::vector<std::int64_t>;
  constexpr std::int64_t header = detail::header_elements * sizeof(double), message = 13 * sizeof(double) + header;
  CHECK(counts(compiled::synchronous_sgd<W>(sgd{})) == list{11, 11, 11 * message});
  CHECK(counts(compiled::pseudo_synchronous_sgd<W>(sgd{})) == list{11, 10, 11 * message});
  CHECK(counts(compiled::lookahead_sgd<W>(sgd{}, local_gradient{}, 4)) == list{11, 7, 11 * message});
  CHECK(counts(compiled::lookahead_sgd<W>(sgd{}, local_gradient{}, 40)) == list{11, 0, 11 * message});
  CHECK(counts(compiled::od_sgd<W>(sgd{}, 5)) == list{11, 10, 11 * message});
  CHECK(counts(compiled::od_sgd<W>(sgd{})) == list{11, 11, 11 * message});  // still warming up
  CHECK(counts(compiled::dasgd<W>(sgd{}, periodic_delay{.period = 5, .delay = 3})) == list{2, 1, 2 * message});
  CHECK(counts(compiled::dasgd<W>(sgd{}, periodic_delay{.period = 3, .delay = 3})) == list{3, 2, 3 * message});
  CHECK(counts(compiled::local_sgd<W>(sgd{}, 2)) == list{5, 5, 5 * message});
  // A bucket per tensor: two messages count as one, but each has a header.
  CHECK(counts(compiled::scheme<W>(warm_up{0, fixed_delay{1}}, gradient_averaging{no_prediction{}, sgd{}},
                                   scheme_options{.bucket_bytes = 1})) == list{11, 10, 11 * (message + header)});
}

TEST_CASE("A rank is never blocked for longer than something is in flight", "[engine][statistics]") {
  struct measured {
    std::string name;
    statistics taken;
  };
  for (const auto& rank : support::on_ranks(2, [](thread_communicator communicator) {
         std::vector<measured> all;
         model<float> weights{std::vector<float>(5000)};
         const model<float> gradients = weights;
         for_both_kinds(communicator, weights, [&](const std::string& name, auto scheme) {
           for (int step = 0; step < 200; ++step) scheme.step(weights, gradients);
           all.push_back({name, scheme.statistics()});
           scheme.finish(weights);
           all.push_back({name + ", finished", scheme.statistics()});
         });
         return all;
       }))
    for (const auto& [name, taken] : rank) {
      INFO(name << ": " << taken.exposed.count() << " of " << taken.communication.count());
      CHECK(taken.communication.count() > 0);
      CHECK(taken.exposed.count() > 0);
      CHECK(taken.exposed <= taken.communication);
    }
}

namespace {

/// The hidden fraction on a link that takes 5 ms for a sum, over which both ranks compute (sleep) for 10 ms per step.
template <class Make>
std::vector<double> hidden_fractions(Make make) {
  return support::on_ranks(thread_team{2, link_model{.gigabits_per_second = 100, .latency_microseconds = 2500}},
                           [&](thread_communicator communicator) {
                             model<float> weights{std::vector<float>(10)}, gradients = weights;
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
  for (const double hidden :
       hidden_fractions([](auto&w, auto c) { return pseudo_synchronous_sgd(w, c, sgd{}, no_prediction{}); }))
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
  CHECK(measured(pseudo_synchronous_sgd(weights, sums_when_tested{}, sgd{}, no_prediction{}), true).exposed < all / 2);
}

TEST_CASE("Nothing communicated is nothing exposed", "[engine][statistics]") {
  model<float> weights{std::vector<float>(3)};
  auto scheme = compiled::dasgd<model<float>>(sgd{})(weights, any_communicator(loopback{}));
  CHECK(scheme.statistics().steps == 0);
  CHECK(scheme.statistics().hidden_fraction() == 1);
  scheme.step(weights, {{1, 2, 3}});
  CHECK(scheme.statistics().communication.count() == 0);
  CHECK(scheme.statistics().hidden_fraction() == 1);
}
