#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <cstddef>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <syncopate/syncopate.hpp>
#include <thread>
#include <utility>
#include <vector>

#include "../support/ranks.hpp"
#include "../support/training.hpp"

using namespace syncopate;

namespace {

using support::any_communicator;
using support::model;

/// A gradient that depends on weights, step and rank.
std::vector<double> gradient_of(const std::vector<double>& weights, int step, int rank) {
  std::vector<double> gradient(weights.size());
  for (std::size_t i = 0; i < weights.size(); ++i)
    gradient[i] = weights[i] / 2 + (step * 5 + rank * 3 + static_cast<int>(i)) % 7;
  return gradient;
}

constexpr sgd rule{.learning_rate = 0.125, .momentum = 0.5};
constexpr periodic_delay period{.period = 3, .delay = 2};

auto looking_ahead(std::vector<double>& weights, thread_communicator communicator) {
  return lookahead_sgd(weights, communicator, rule, local_gradient{}, 3);
}

auto averaging_late(std::vector<double>& weights, thread_communicator communicator) {
  return dasgd(weights, communicator, rule, period);
}

/// A communicator of one rank whose sums land when the test says so.
class by_hand {
 public:
  struct transport {
    std::size_t started = 0, landed = 0, tests = 0, waits = 0;
  };

  class request {
   public:
    request(std::shared_ptr<transport> shared, std::size_t number) : shared_(std::move(shared)), number_(number) {}
    bool test() {
      ++shared_->tests;
      return number_ < shared_->landed;
    }
    void wait() {
      ++shared_->waits;
      shared_->landed = std::max(shared_->landed, number_ + 1);
    }

   private:
    std::shared_ptr<transport> shared_;
    std::size_t number_;
  };

  explicit by_hand(std::shared_ptr<transport> shared) : shared_(std::move(shared)) {}

  static int rank() { return 0; }
  static int size() { return 1; }
  by_hand duplicate() const { return *this; }
  template <Element T>
  request start_sum(std::span<T>) {
    return {shared_, shared_->started++};
  }
  static void broadcast(std::span<std::byte>, int) {}
  static void all_gather(std::span<const std::byte> own, std::span<std::byte> all) {
    std::ranges::copy(own, all.begin());
  }

 private:
  std::shared_ptr<transport> shared_;
};

}  // namespace

TEST_CASE("poll tests what is in flight and never waits", "[engine][poll]") {
  const auto transport = std::make_shared<by_hand::transport>();
  model<double> weights{{0, 0, 0}}, gradients = weights;
  auto scheme =
      compiled::lookahead_sgd<model<double>>(sgd{}, local_gradient{}, 2)(weights, any_communicator(by_hand(transport)));
  scheme.poll();
  CHECK(transport->tests == 0);  // there is nothing to test

  scheme.step(weights, gradients);
  scheme.step(weights, gradients);
  CHECK(transport->started == 2);
  transport->tests = 0;
  scheme.poll();
  scheme.poll();
  CHECK(transport->tests >= 2);
  CHECK(scheme.statistics().absorbed == 0);

  // What landed in time is not waited for.
  transport->landed = 1;
  scheme.poll();
  scheme.step(weights, gradients);
  CHECK(scheme.statistics().absorbed == 1);
  CHECK(transport->waits == 0);
  // What did not is.
  scheme.step(weights, gradients);
  CHECK(scheme.statistics().absorbed == 2);
  CHECK(transport->waits == 1);

  scheme.finish(weights);
  CHECK(scheme.statistics().absorbed == 4);
  transport->tests = 0;
  scheme.poll();
  CHECK(transport->tests == 0);
}

TEST_CASE("Without a landing time, communication ends when poll notices", "[engine][poll]") {
  const auto transport = std::make_shared<by_hand::transport>();
  model<double> weights{{0, 0, 0}}, gradients = weights;
  auto scheme = compiled::lookahead_sgd<model<double>>(sgd{})(weights, any_communicator(by_hand(transport)));
  scheme.step(weights, gradients);
  transport->landed = 1;
  const auto before = std::chrono::steady_clock::now();
  scheme.poll();
  const auto noticed = std::chrono::steady_clock::now() - before;
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  scheme.step(weights, gradients);
  CHECK(scheme.statistics().communication < noticed + std::chrono::milliseconds(45));
}

TEST_CASE("Whether a communicator tells when sums land does not matter to the weights", "[engine][poll]") {
  const auto same = support::on_ranks(2, [](thread_communicator communicator) {
    const any_communicator silent(communicator);
    std::vector<double> a(700), b(700);
    auto ahead = looking_ahead(a, communicator);
    auto late = averaging_late(b, communicator);
    model<double> c{a}, d{b};
    auto silently_ahead = compiled::lookahead_sgd<model<double>>(rule, local_gradient{}, 3)(c, silent.duplicate());
    auto silently_late = compiled::dasgd<model<double>>(rule, period)(d, silent.duplicate());
    const auto train = [&](auto& scheme, auto& weights, auto gradient) {
      scheme.step(weights, gradient);
      scheme.poll();
    };
    for (int step = 0; step < 20; ++step) {
      train(ahead, a, gradient_of(a, step, communicator.rank()));
      train(late, b, gradient_of(b, step, communicator.rank()));
      train(silently_ahead, c, model<double>{gradient_of(c[0], step, communicator.rank())});
      train(silently_late, d, model<double>{gradient_of(d[0], step, communicator.rank())});
    }
    ahead.finish(a), late.finish(b), silently_ahead.finish(c), silently_late.finish(d);
    return a == c[0] && b == d[0] && a != std::vector<double>(700);
  });
  CHECK(same == std::vector{true, true});
}

TEST_CASE("Two schemes need not be called in the same order on all ranks", "[engine][lifetime]") {
  const auto train = [](int interleaving, thread_communicator communicator) {
    std::vector<double> a(20), b(30);
    auto first = looking_ahead(a, communicator);
    auto second = averaging_late(b, communicator);
    for (int step = 0; step < 60; ++step) {
      const auto step_first = [&] { first.step(a, gradient_of(a, step, communicator.rank())); };
      const auto step_second = [&] { second.step(b, gradient_of(b, step, communicator.rank())); };
      if ((interleaving + step) % 2 == 0) {
        step_first();
        step_second();
      } else {
        step_second();
        step_first();
      }
    }
    first.finish(a);
    second.finish(b);
    return std::pair(a, b);
  };
  const auto same = support::on_ranks(3, [&](thread_communicator c) { return train(0, c); });
  const auto different = support::on_ranks(3, [&](thread_communicator c) { return train(c.rank(), c); });
  CHECK(same[0] == same[1]);
  CHECK(different == same);
}

TEST_CASE("A scheme may be moved with messages in flight", "[engine][lifetime]") {
  const auto train = [](bool moves, thread_communicator communicator) {
    std::vector<double> a(20), b(1200);
    auto first = std::make_optional(looking_ahead(a, communicator));
    auto second = std::make_optional(averaging_late(b, communicator));
    const auto elsewhere = [&](auto& scheme) {
      auto moved = std::move(*scheme);
      scheme.reset();
      scheme.emplace(std::move(moved));
    };
    for (int step = 0; step < 20; ++step) {
      first->step(a, gradient_of(a, step, communicator.rank()));
      if (moves) elsewhere(first);
      second->step(b, gradient_of(b, step, communicator.rank()));
      if (moves) elsewhere(second);
    }
    first->finish(a);
    second->finish(b);
    return std::pair(a, b);
  };
  CHECK(support::on_ranks(2, [&](thread_communicator c) { return train(true, c); }) ==
        support::on_ranks(2, [&](thread_communicator c) { return train(false, c); }));
}

TEST_CASE("A scheme may be destroyed with messages in flight", "[engine][lifetime]") {
  const auto found = support::on_ranks(3, [](thread_communicator communicator) {
    // Ranks abandon their schemes one after the other, so that some do so before others have launched.
    for (int round = 0; round < 5; ++round) {
      std::vector<double> a(2000), b(2000);
      auto first = looking_ahead(a, communicator);
      auto second = averaging_late(b, communicator);
      for (int step = 0; step < 3; ++step) {
        if (communicator.rank() == round % 3) std::this_thread::sleep_for(std::chrono::milliseconds(1));
        first.step(a, gradient_of(a, step, communicator.rank()));
        second.step(b, gradient_of(b, step, communicator.rank()));
      }
    }
    model<double> weights{{0}};
    auto next =
        compiled::synchronous_sgd<model<double>>(sgd{.learning_rate = 1})(weights, any_communicator(communicator));
    next.step(weights, {{static_cast<double>(communicator.rank())}});
    return weights[0][0];
  });
  CHECK(found == std::vector<double>(3, -1));
}

TEST_CASE("An exception on one rank ends all, with messages in flight", "[engine][lifetime]") {
  const auto outcomes = support::outcomes_on_ranks(thread_team{3}, [](thread_communicator communicator) {
    std::vector<double> weights(100);
    auto scheme = looking_ahead(weights, communicator);
    for (int step = 0; step < 50; ++step) {
      if (step == 7 && communicator.rank() == 1) throw std::runtime_error("no more data");
      scheme.step(weights, gradient_of(weights, step, communicator.rank()));
    }
  });
  CHECK(outcomes[0].kind == support::outcome::peer_failed);
  CHECK(outcomes[1].kind == support::outcome::other);
  CHECK(outcomes[2].kind == support::outcome::peer_failed);
  CHECK(outcomes[1].text == "no more data");
}
