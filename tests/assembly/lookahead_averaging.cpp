#include "shipped.hpp"

using namespace syncopate;

LOOPS_OF(float, lookahead_averaging<local_gradient, sgd>);
LOOPS_OF(float, lookahead_averaging<blended_gradient, adamw>);
LOOPS_OF(float, local_rule_averaging<local_gradient, sgd, sgd>);
