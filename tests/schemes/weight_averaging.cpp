// Averaged weights.
#include "definitions.hpp"

COMPILE(dasgd, sgd)
COMPILE(dasgd, sgd, periodic_delay)
COMPILE_FOR(mixed_model, dasgd, sgd)

COMPILE(local_sgd, sgd)
COMPILE(local_sgd, sgd, int)

COMPILE(scheme, periodic_delay, weight_averaging<replace, sgd>)
COMPILE(scheme, periodic_delay, weight_averaging<replace, adamw>)
COMPILE(scheme, periodic_delay, weight_averaging<blend, sgd>)
COMPILE(scheme, periodic_delay, weight_averaging<blend, adamw>)
COMPILE(scheme, periodic_delay, weight_averaging<blend, adamw>, scheme_options)
COMPILE(scheme, periodic_delay, weight_averaging<two_parameter_merge, sgd>)
COMPILE(scheme, periodic_delay, weight_averaging<two_parameter_merge, sgd>, scheme_options)
COMPILE(scheme, periodic_delay, weight_averaging<two_parameter_merge, adamw>)
