/// What it costs to look whether gradients are finite, as schemes do by default: next to loops by hand that do not.
#include "registration.hpp"
#include "suite.hpp"

void suite::checked() {
  using namespace parts;
  registration::gradient_averaging<smoothing, parts::sgd, float>(registration::checked);
#ifndef ONE_RULE_AND_ELEMENT
  registration::lookahead_averaging<local, parts::sgd, float>(registration::checked);
  registration::weight_averaging<blend, parts::sgd, float>(registration::checked);
#endif
}
