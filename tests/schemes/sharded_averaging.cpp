// Averaged gradients, whose update ranks share.
#include "definitions.hpp"

using delay = warm_up<fixed_delay>;

COMPILE(sharded_sgd, sgd)
COMPILE(sharded_sgd, adamw)
COMPILE_FOR(mixed_model, sharded_sgd, sgd)

COMPILE(scheme, delay, sharded_averaging<gradient_averaging<delay_compensation, sgd>>)
COMPILE(scheme, lazy_delay, sharded_averaging<gradient_averaging<no_prediction, sgd>>)
COMPILE(scheme, delay, sharded_averaging<gradient_averaging<no_prediction, sgd>>, scheme_options)
