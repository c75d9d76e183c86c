// All merges, averagings and delay policies of the library keep the laws, and so does a merge of the README.
#include <cstdint>

#include "../support/delayed_gradient_averaging.hpp"
#include "conforms.hpp"
#include "syncopate/syncopate.hpp"

using namespace syncopate;
using support::conforms;

namespace {

struct elastic {
  double pull = 0.5;

  template <class T>
  constexpr T merge(T weight, const landed<T>& m) const {
    return weight + T(pull) * (m.mean - weight);
  }
};

using support::delayed_gradient_averaging;

}  // namespace

TEST_CASE("Merges conform", "[conformance]") {
  conforms(13, replace{});
  conforms(13, blend{}, &blend::own_share);
  conforms(13, two_parameter_merge{0.75, 0.25}, &two_parameter_merge::local_progress,
           &two_parameter_merge::disagreement);
  conforms(13, elastic{});
}

TEST_CASE("Averagings conform", "[conformance]") {
  conforms(13, local_rule_averaging{local_gradient{}, sgd{.momentum = 0.9}, sgd{.momentum = 0.1}});
  conforms(11, delayed_gradient_averaging{}, &delayed_gradient_averaging::learning_rate);
}

TEST_CASE("Delay policies conform", "[conformance]") {
  for (const std::int64_t delay : {0, 1, 5}) {
    conforms(4, fixed_delay{delay});
    conforms(4, periodic_delay{.period = 5, .delay = delay});
    conforms(4, warm_up{200, fixed_delay{delay}});
    conforms(4, warm_up{7, periodic_delay{.period = 5, .delay = delay}});
  }
  conforms(5, lazy_delay{.longest_interval = 3});
  conforms(5, warm_up{2, lazy_delay{}});
}
