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
#include "named_schemes.hpp"

namespace {

using namespace syncopate;
using support::allocations;

/// A communicator whose own allocations do not count: a `thread_team` makes room when ranks are further apart than ever
/// before, and when that is the system's scheduler decides.
template <class C>
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
  template <class Inner>
  class request {
   public:
    explicit request(Inner inner) : inner_(std::move(inner)) {}
    bool test() { return inner_.test(); }
    void wait() { inner_.wait(); }

   private:
    Inner inner_;
  };

  explicit uncounted(C inner) : inner_(std::move(inner)) {}

  int rank() const { return inner_.rank(); }
  int size() const { return inner_.size(); }
  uncounted duplicate() const { return uncounted(inner_.duplicate()); }
  template <Element T>
  auto start_sum(std::span<T> elements) {
    const pause while_starting;
    return request<decltype(inner_.start_sum(elements))>(inner_.start_sum(elements));
  }
  void broadcast(std::span<std::byte> bytes, int root) { inner_.broadcast(bytes, root); }
  void all_gather(std::span<const std::byte> own, std::span<std::byte> all) { inner_.all_gather(own, all); }

 private:
  C inner_;
};

/// What a model of both element types, some of it in nested ranges, allocates in 20 steps.
struct training {
  std::vector<std::vector<float>> layers{std::vector<float>(600), std::vector<float>(7)}, layer_gradients = layers;
  std::vector<double> bias = std::vector<double>(33), bias_gradient = bias;
  std::tuple<std::vector<std::vector<float>>&, std::vector<double>&> weights{layers, bias};

  template <class Scheme>
  std::size_t allocations_of(Scheme scheme) {
    const std::size_t before = allocations;
    for (int step = 0; step < 20; ++step) {
      scheme.step(weights, std::tie(layer_gradients, bias_gradient));
      scheme.poll();
    }
    return allocations - before;
  }

  template <class C>
  std::map<std::string, std::size_t> of_named_schemes(const C& communicator) {
    std::map<std::string, std::size_t> counts;
    support::for_each_named_scheme(weights, communicator, [&](const std::string& name, auto scheme) {
      counts[name] = allocations_of(std::move(scheme));
    });
    counts["several buckets"] =
        allocations_of(update_scheme{weights, communicator, fixed_delay{2},
                                     lookahead_averaging{adaptive_exponential_smoothing{}, sgd{}}, std::size_t{8}});
    return counts;
  }
};

}  // namespace

TEST_CASE("Allocations are counted", "[engine][allocation]") {
  const std::size_t before = allocations;
  training counted;
  CHECK(allocations > before);
  const std::size_t then = allocations;
  lookahead_sgd(counted.weights, loopback{}, sgd{});
  CHECK(allocations > then);
}

TEST_CASE("A step allocates nothing, not even the first one", "[engine][allocation]") {
  for (const auto& [name, count] : training{}.of_named_schemes(loopback{})) {
    INFO(name);
    CHECK(count == 0);
  }
}

TEST_CASE("A step on several ranks allocates nothing", "[engine][allocation]") {
  for (const auto& counts : support::on_ranks(
           2, [](thread_communicator communicator) { return training{}.of_named_schemes(uncounted(communicator)); })) {
    CHECK(counts.size() == 8);
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
