// Averaged gradients that only predict.
#include "definitions.hpp"

namespace {

using delay = warm_up<fixed_delay>;

}  // namespace

COMPILE(lookahead_sgd, sgd)
COMPILE(lookahead_sgd, sgd, local_gradient, int)
COMPILE(lookahead_sgd, sgd, no_prediction)
COMPILE(lookahead_sgd, sgd, blended_gradient, int)
COMPILE(lookahead_sgd, adamw, blended_gradient, int)
COMPILE_FOR(mixed_model, lookahead_sgd, adamw, blended_gradient, int)

COMPILE(od_sgd, sgd)
COMPILE(od_sgd, sgd, int)
COMPILE(od_sgd, sgd, sgd, int)

COMPILE(scheme, delay, lookahead_averaging<local_gradient, sgd>)
COMPILE(scheme, delay, lookahead_averaging<local_gradient, sgd>, scheme_options)
COMPILE(scheme, delay, lookahead_averaging<no_prediction, sgd>)
COMPILE(scheme, delay, lookahead_averaging<blended_gradient, sgd>)
COMPILE(scheme, delay, lookahead_averaging<blended_gradient, adamw>)
COMPILE(scheme, delay, lookahead_averaging<exponential_smoothing, sgd>)
COMPILE(scheme, delay, lookahead_averaging<linear_extrapolation, sgd>)
COMPILE(scheme, delay, lookahead_averaging<delay_compensation, sgd>)
COMPILE(scheme, delay, lookahead_averaging<adaptive_exponential_smoothing<tracking_signal>, sgd>)
COMPILE(scheme, delay, lookahead_averaging<adaptive_exponential_smoothing<cosine_gate>, sgd>)
COMPILE(scheme, delay, local_rule_averaging<local_gradient, sgd, sgd>)
