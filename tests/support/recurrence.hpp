#pragma once

#include <catch2/catch.hpp>
#include <functional>
#include <vector>

#include "reference.hpp"
#include "syncopate/delays/fixed_delay.hpp"
#include "syncopate/delays/warm_up.hpp"
#include "training.hpp"

namespace support {

/// What a scheme and its recurrence are run on: data by this function, for so many steps.
struct task {
  training_data (*make_data)(const std::vector<std::size_t>& sizes, int steps, const std::vector<double>& samples);
  int steps;
  std::vector<int> warm_ups;
};

/// Checks that a scheme's weights are no further than `bound` from its recurrence's: on every communicator, at every
/// delay, after each of the task's warm-ups.
template <class T>
void compare(const task& on, double bound,
             const std::function<maker<model<T>>(syncopate::warm_up<syncopate::fixed_delay>)>& scheme,
             const std::function<reference::trajectories(const training_data&, reference::schedule)>& recurrence) {
  for (const rank_group& ranks : every_communicator()) {
    const auto data = on.make_data(awkward_sizes, on.steps, uneven(ranks.size));
    for (const int delay : {0, 1, 2, 3, 5})
      for (const int warm_up : on.warm_ups) {
        const auto expected = recurrence(data, {delay, warm_up});
        const auto got =
            trajectories<T>(ranks, data, scheme(syncopate::warm_up{warm_up, syncopate::fixed_delay{delay}}));
        INFO(ranks.name << ", delay " << delay << ", warm-up " << warm_up);
        for (std::size_t rank = 0; rank < got.size(); ++rank) CHECK(distance(got[rank], expected[rank]) <= bound);
      }
  }
}

}  // namespace support
