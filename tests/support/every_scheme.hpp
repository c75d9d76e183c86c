#pragma once

#include <string>
#include <utility>
#include <vector>

#include "compiled_schemes.hpp"
#include "syncopate/averaging/gradient_averaging.hpp"
#include "syncopate/averaging/lookahead_averaging.hpp"
#include "syncopate/averaging/sharded_averaging.hpp"
#include "syncopate/averaging/weight_averaging.hpp"
#include "syncopate/delays/fixed_delay.hpp"
#include "syncopate/delays/lazy_delay.hpp"
#include "syncopate/delays/periodic_delay.hpp"
#include "syncopate/delays/warm_up.hpp"
#include "syncopate/merges/blend.hpp"
#include "syncopate/merges/two_parameter_merge.hpp"
#include "syncopate/predictors/adaptive_exponential_smoothing.hpp"
#include "syncopate/predictors/blended_gradient.hpp"
#include "syncopate/predictors/delay_compensation.hpp"
#include "syncopate/predictors/gain_laws/tracking_signal.hpp"
#include "syncopate/predictors/linear_extrapolation.hpp"
#include "syncopate/predictors/local_gradient.hpp"
#include "syncopate/predictors/no_prediction.hpp"
#include "syncopate/rules/adamw.hpp"
#include "syncopate/rules/sgd.hpp"
#include "syncopate/scheme_options.hpp"

namespace support {

template <class W>
using named_makers = std::vector<std::pair<std::string, maker<W>>>;

/// One scheme of each kind: averagings, with and without state of every role, delays and warm-ups.
template <class W>
named_makers<W> every_scheme() {
  using namespace syncopate;
  const sgd rule{.learning_rate = 0.125, .momentum = 0.5}, local_rule{.learning_rate = 0.125};
  const adamw other_rule{.learning_rate = 0.125};
  const auto delayed = [](int warm_up_steps, int delay) { return warm_up{warm_up_steps, fixed_delay{delay}}; };
  return {
      {"synchronous_sgd", compiled::synchronous_sgd<W>(rule)},
      {"pseudo_synchronous_sgd", compiled::pseudo_synchronous_sgd<W>(rule)},
      {"committed, extrapolation",
       compiled::scheme<W>(delayed(1, 3), gradient_averaging{linear_extrapolation{}, rule})},
      {"committed, compensation", compiled::scheme<W>(delayed(0, 2), gradient_averaging{delay_compensation{}, rule})},
      {"lookahead_sgd", compiled::lookahead_sgd<W>(other_rule, blended_gradient{}, 3)},
      {"look-ahead, adaptive smoothing",
       compiled::scheme<W>(delayed(0, 2),
                           lookahead_averaging{adaptive_exponential_smoothing{tracking_signal{0.25, 0.25}}, rule})},
      {"look-ahead, compensation", compiled::scheme<W>(delayed(2, 1), lookahead_averaging{delay_compensation{}, rule})},
      {"od_sgd", compiled::od_sgd<W>(rule, 3)},
      {"od_sgd with a local rule", compiled::od_sgd<W>(rule, local_rule, 3)},
      {"dasgd", compiled::dasgd<W>(rule, periodic_delay{.period = 4, .delay = 2})},
      {"local_sgd", compiled::local_sgd<W>(rule, 2)},
      {"sharded_sgd", compiled::sharded_sgd<W>(other_rule)},
      {"sharded, delayed",
       compiled::scheme<W>(delayed(1, 2), sharded_averaging{gradient_averaging{delay_compensation{}, rule}})},
      {"lazy_sgd", compiled::lazy_sgd<W>(rule)},
      {"lazy, sharded", compiled::scheme<W>(lazy_delay{.longest_interval = 3},
                                            sharded_averaging{gradient_averaging{no_prediction{}, rule}})},
      {"accumulated, late", compiled::scheme<W>(periodic_delay{.period = 3, .delay = 2},
                                                gradient_averaging{delay_compensation{}, other_rule})},
      {"delta merge", compiled::scheme<W>(periodic_delay{.period = 3, .delay = 3},
                                          weight_averaging{two_parameter_merge{}, other_rule})},
  };
}

/// Schemes that are given options.
template <class W>
named_makers<W> every_scheme_with(const syncopate::scheme_options& options) {
  using namespace syncopate;
  const sgd rule{.learning_rate = 0.125, .momentum = 0.5};
  const auto delayed = [](int delay) { return warm_up{0, fixed_delay{delay}}; };
  return {
      {"synchronous", compiled::scheme<W>(delayed(0), gradient_averaging{no_prediction{}, rule}, options)},
      {"committed", compiled::scheme<W>(delayed(2), gradient_averaging{no_prediction{}, rule}, options)},
      {"look-ahead", compiled::scheme<W>(delayed(1), lookahead_averaging{local_gradient{}, rule}, options)},
      {"look-ahead, delay 3", compiled::scheme<W>(delayed(3), lookahead_averaging{local_gradient{}, rule}, options)},
      {"sharded",
       compiled::scheme<W>(delayed(0), sharded_averaging{gradient_averaging{no_prediction{}, rule}}, options)},
      {"weights",
       compiled::scheme<W>(periodic_delay{.period = 4, .delay = 2}, weight_averaging{blend{}, adamw{}}, options)}};
}

}  // namespace support
