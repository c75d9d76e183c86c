#include "shipped.hpp"

using namespace syncopate;

STEP_OF(float, fixed_delay, lookahead_averaging<local_gradient, sgd>);
STEP_OF(float, fixed_delay, lookahead_averaging<blended_gradient, adamw>);
STEP_OF(float, fixed_delay, local_rule_averaging<local_gradient, sgd, sgd>);
