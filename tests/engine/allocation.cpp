#include <catch2/catch.hpp>
#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <syncopate/syncopate.hpp>
#include <tuple>
#include <utility>
#include <vector>

#include "../support/allocation_counter.hpp"
#include "../support/ranks.hpp"
#include "../support/training.hpp"
#include "named_schemes.hpp"

namespace {

using namespace syncopate;
using support::allocations;
using support::mixed_model;
using support::model;

/// Ranks whose own allocations do not count: a `thread_team` makes room when ranks are further apart than ever before,
/// and when that is the system's scheduler decides.
class uncounted {
  class pause {
   public:
    pause() = default;
    pause(const pause&) = delete;
    pause& operator=(const pause&) = delete;
    ~pause() { allocations = before_; }

   private:
    std::size_t before_ = allocations;
  };

 public:
  explicit uncounted(thread_communicator inner) : inner_(std::move(inner)) {}

  int rank() const { return inner_.rank(); }
  int size() const { return inner_.size(); }
  uncounted duplicate() const { return uncounted(inner_.duplicate()); }
  template <Element T>
  auto start_sum(std::span<T> elements) {
    const pause while_starting;
    return inner_.start_sum(elements);
  }
  template <Element T>
  auto start_reduce_scatter(std::span<T> elements) {
    const pause while_starting;
    return inner_.start_reduce_scatter(elements);
  }
  template <Element T>
  auto start_all_gather(std::span<T> elements) {
    const pause while_starting;
    return inner_.start_all_gather(elements);
  }
  template <Element T>
  auto start_all_to_all(std::span<T> elements) {
    const pause while_starting;
    return inner_.start_all_to_all(elements);
  }
  void broadcast(std::span<std::byte> bytes, int root) { inner_.broadcast(bytes, root); }
  void all_gather(std::span<const std::byte> own, std::span<std::byte> all) { inner_.all_gather(own, all); }

 private:
  thread_communicator inner_;
};

/// What a scheme allocates in 20 steps.
template <class W>
std::size_t allocations_of(const support::maker<W>& make, W weights, support::any_communicator communicator) {
  const W gradients = weights;
  auto scheme = make(weights, std::move(communicator));
  const std::size_t before = allocations;
  for (int step = 0; step < 20; ++step) {
    scheme.step(weights, gradients);
    scheme.poll();
  }
  return allocations - before;
}

/// What each named scheme allocates, and what schemes of a model of both element types do.
template <class C>
std::map<std::string, std::size_t> counts_on(const C& communicator) {
  using support::any_communicator;
  std::map<std::string, std::size_t> counts;
  const model<float> tensors{std::vector<float>(600), std::vector<float>(7)};
  for (const auto& [name, make] : support::named_schemes<model<float>>())
    counts[name] = allocations_of(make, tensors, any_communicator(communicator));
  counts["several buckets"] = allocations_of(
      compiled::scheme<model<float>>(warm_up{0, fixed_delay{2}}, lookahead_averaging{local_gradient{}, sgd{}},
                                     scheme_options{.bucket_bytes = 8}),
      tensors, any_communicator(communicator));
  const mixed_model mixed{tensors, {std::vector<double>(33)}};
  counts["both element types"] = allocations_of(compiled::lookahead_sgd<mixed_model>(adamw{}, blended_gradient{}, 2),
                                                mixed, any_communicator(communicator));
  counts["both element types, averaged weights"] =
      allocations_of(compiled::dasgd<mixed_model>(sgd{}), mixed, any_communicator(communicator));
  return counts;
}

}  // namespace

#if SYNCOPATE_TEST_COUNTS_ALLOCATIONS
TEST_CASE("Allocations are counted", "[engine][allocation]") {
  const std::size_t before = allocations;
  model<float> weights{std::vector<float>(600)};
  CHECK(allocations > before);
  const std::size_t then = allocations;
  synchronous_sgd(weights, loopback{}, sgd{});
  CHECK(allocations > then);
}
#endif

TEST_CASE("A step allocates nothing, not even the first one", "[engine][allocation]") {
  for (const auto& [name, count] : counts_on(loopback{})) {
    INFO(name);
    CHECK(count == 0);
  }
}

TEST_CASE("A step on several ranks allocates nothing", "[engine][allocation]") {
  for (const auto& counts : support::on_ranks(
           2, [](thread_communicator communicator) { return counts_on(uncounted(std::move(communicator))); })) {
    CHECK(counts.size() == 12);
    for (const auto& [name, count] : counts) {
      INFO(name);
      CHECK(count == 0);
    }
  }
}

TEST_CASE("Weights and gradients that move cost no allocation either", "[engine][allocation]") {
  std::vector<float> a(100), b(100), c(100), d(100);
  auto scheme = synchronous_sgd(std::tie(a, b), loopback{}, sgd{});
  const std::size_t before = allocations;
  for (int step = 0; step < 5; ++step) {
    scheme.step(std::tie(a, b), std::tie(c, d));
    std::swap(a, c);
    std::swap(b, d);
  }
  CHECK(allocations == before);
}

TEST_CASE("Nothing is allocated layer by layer", "[engine][layers]") {
  model<float> weights(3, std::vector<float>(5)), gradients = weights;
  auto scheme = lookahead_sgd(weights, loopback{}, sgd{.learning_rate = 0.1}, local_gradient{}, 2,
                              scheme_options{.bucket_bytes = 16});
  const std::size_t before = allocations;
  for (int step = 0; step < 8; ++step) {
    scheme.begin_step(weights);
    for (std::size_t i = 0; i < 3; ++i) scheme.before_forward(i);
    for (const std::size_t i : {2u, 1u, 0u}) scheme.gradient_ready(i, gradients[i]);
    scheme.end_step();
  }
  CHECK(allocations == before);
}
