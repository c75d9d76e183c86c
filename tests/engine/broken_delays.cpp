// Delay policies of one's own that cannot work: an error, not a hang, and nothing is written over.
#include <catch2/catch.hpp>
#include <cstdint>
#include <syncopate/syncopate.hpp>
#include <vector>

using namespace syncopate;

namespace {

/// Never absorbs anything.
struct stubborn {
  bool sends;
  std::int64_t most;

  bool launches(std::int64_t) const { return sends; }
  bool due(std::int64_t, std::int64_t) const { return false; }
  std::int64_t most_in_flight() const { return most; }
};

auto make(std::vector<float>& weights, stubborn delay) {
  return update_scheme{weights, loopback{}, delay, weight_averaging{replace{}, sgd{}}};
}

}  // namespace

TEST_CASE("A delay policy that never launches a message lets nobody join", "[engine][delays]") {
  std::vector<float> weights(3);
  auto scheme = make(weights, {.sends = false, .most = 0});
  scheme.step(weights, std::vector<float>(3));
  CHECK_THROWS_WITH(scheme.finish(weights),
                    "syncopate: ranks cannot join, since the delay policy launches no message in 1048576 steps");
}

TEST_CASE("A delay policy that has more in flight than it said is stopped", "[engine][delays]") {
  std::vector<float> weights(3), gradients(3);
  auto scheme = make(weights, {.sends = true, .most = 1});
  scheme.step(weights, gradients);
  scheme.step(weights, gradients);
  CHECK_THROWS_WITH(scheme.step(weights, gradients),
                    "syncopate: more messages are in flight than the delay policy's most_in_flight() allows");
}

TEST_CASE("A delay policy that wants too much memory is refused", "[engine][delays]") {
  std::vector<float> weights(3);
  CHECK_THROWS_WITH(make(weights, {.sends = true, .most = 1 << 20}),
                    "syncopate: the delay policy wants 1048576 messages in flight, but only 0 to 65536 are possible");
}
