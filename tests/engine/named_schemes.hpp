#pragma once

#include <syncopate/syncopate.hpp>

namespace support {

/// Calls `visit(name, scheme)` with each named scheme, made for these weights at a learning rate of 1/8.
template <class W, class C, class Visitor>
void for_each_named_scheme(W& weights, const C& communicator, Visitor visit) {
  using namespace syncopate;
  const sgd rule{.learning_rate = 0.125, .momentum = 0.5};
  visit("synchronous_sgd", synchronous_sgd(weights, communicator, rule));
  visit("pseudo_synchronous_sgd", pseudo_synchronous_sgd(weights, communicator, rule));
  visit("lookahead_sgd", lookahead_sgd(weights, communicator, adamw{}, blended_gradient{}, 3));
  visit("od_sgd", od_sgd(weights, communicator, rule, 3));
  visit("od_sgd with a local rule", od_sgd(weights, communicator, rule, sgd{.learning_rate = 0.125}, 3));
  visit("dasgd", dasgd(weights, communicator, rule));
  visit("local_sgd", local_sgd(weights, communicator, rule, 2));
}

}  // namespace support
