/// What it costs to look whether gradients are finite, as schemes do by default: next to loops by hand that do not.
#include "registration.hpp"
#include "suite.hpp"

void suite::checked() {
  registration::gradient_averaging<parts::smoothing, parts::sgd, float>(registration::checked);
#ifndef ONE_RULE_AND_ELEMENT
  registration::lookahead_averaging<parts::local, parts::sgd, float>(registration::checked);
  registration::weight_averaging<parts::blend, parts::sgd, float>(registration::checked);
#endif
}
