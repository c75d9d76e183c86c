// Where the laws run in this program: on loopback and on threads. And what only threads can show.
#include <catch2/catch.hpp>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "../support/ranks.hpp"
#include "../support/training.hpp"
#include "syncopate/communicators/loopback.hpp"
#include "syncopate/communicators/thread_team.hpp"
#include "syncopate/delays/periodic_delay.hpp"
#include "syncopate/predictors/exponential_smoothing.hpp"
#include "syncopate/predictors/local_gradient.hpp"
#include "syncopate/rules/sgd.hpp"

namespace support {
namespace {

rank_group group_of(const std::string& name, const syncopate::thread_team& team) {
  return {name, team.size(), [team](const auto& function) {
            return on_ranks(team, [&](syncopate::thread_communicator communicator) {
              return function(any_communicator(communicator));
            });
          }};
}

}  // namespace

const std::vector<rank_group>& every_communicator() {
  static const std::vector<rank_group> all = [] {
    std::vector<rank_group> groups{{"loopback", 1, [](const auto& function) {
                                      return std::vector<record>{function(any_communicator(syncopate::loopback{}))};
                                    }}};
    for (const int ranks : {1, 2, 3, 5})
      groups.push_back(group_of(std::to_string(ranks) + " threads", syncopate::thread_team{ranks}));
    return groups;
  }();
  return all;
}

namespace {

// Law 11: messages are copies. `trajectory` spoils each gradient as soon as the step returns; on this link a message is
// on its way for 2 ms, many times longer than a step. A scheme that read a gradient later than that would send NaN.
TEMPLATE_TEST_CASE("A gradient that is overwritten at once is sent all the same", "[laws]", float, double) {
  const auto data = rough_data({300, 5}, 6, even(2));
  const rank_group direct = group_of("threads", syncopate::thread_team{2});
  const rank_group linked = group_of(
      "link",
      syncopate::thread_team{2, syncopate::link_model{.gigabits_per_second = 100, .latency_microseconds = 1000}});
  const auto same = [&](const maker<model<TestType>>& make) {
    const auto expected = trajectories<TestType>(direct, data, make);
    const auto got = trajectories<TestType>(linked, data, make);
    for (std::size_t rank = 0; rank < 2; ++rank) {
      CHECK(distance(got[rank], expected[rank]) == 0);  // no NaN either
      CHECK(same_bits(got[rank], expected[rank]));
    }
  };
  const syncopate::sgd rule{.learning_rate = 0.1, .momentum = 0.9};
  same(compiled::pseudo_synchronous_sgd<model<TestType>>(rule, syncopate::exponential_smoothing{}));
  same(compiled::lookahead_sgd<model<TestType>>(rule, syncopate::local_gradient{}, 3));
  same(compiled::dasgd<model<TestType>>(rule, syncopate::periodic_delay{.period = 3, .delay = 2}));
}

}  // namespace
}  // namespace support
