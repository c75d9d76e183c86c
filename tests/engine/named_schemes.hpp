#pragma once

#include <map>
#include <string>

#include "../support/compiled_schemes.hpp"
#include "syncopate/predictors/blended_gradient.hpp"
#include "syncopate/rules/adamw.hpp"
#include "syncopate/rules/sgd.hpp"

namespace support {

/// Makes each named scheme, at a learning rate of 1/8.
template <class W>
std::map<std::string, maker<W>> named_schemes() {
  const syncopate::sgd rule{.learning_rate = 0.125, .momentum = 0.5}, local_rule{.learning_rate = 0.125};
  return {{"synchronous_sgd", compiled::synchronous_sgd<W>(rule)},
          {"pseudo_synchronous_sgd", compiled::pseudo_synchronous_sgd<W>(rule)},
          {"lookahead_sgd", compiled::lookahead_sgd<W>(syncopate::adamw{}, syncopate::blended_gradient{}, 3)},
          {"od_sgd", compiled::od_sgd<W>(rule, 3)},
          {"od_sgd with a local rule", compiled::od_sgd<W>(rule, local_rule, 3)},
          {"dasgd", compiled::dasgd<W>(rule)},
          {"local_sgd", compiled::local_sgd<W>(rule, 2)},
          {"sharded_sgd", compiled::sharded_sgd<W>(rule)},
          {"lazy_sgd", compiled::lazy_sgd<W>(rule)}};
}

}  // namespace support
