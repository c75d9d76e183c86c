#include "shipped.hpp"

using namespace syncopate;

STEP_OF(float, periodic_delay, weight_averaging<blend, sgd>);
STEP_OF(float, periodic_delay, weight_averaging<two_parameter_merge, adamw>);
