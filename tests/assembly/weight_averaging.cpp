#include "shipped.hpp"

using namespace syncopate;

LOOPS_OF(float, weight_averaging<blend, sgd>);
LOOPS_OF(float, weight_averaging<two_parameter_merge, adamw>);
