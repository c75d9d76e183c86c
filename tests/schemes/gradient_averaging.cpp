// Averaged gradients, committed.
#include "definitions.hpp"

namespace {

using delay = warm_up<fixed_delay>;
using adaptive_smoothing = adaptive_exponential_smoothing<tracking_signal>;

}  // namespace

COMPILE(synchronous_sgd, sgd)
COMPILE(synchronous_sgd, adamw)

COMPILE(pseudo_synchronous_sgd, sgd)
COMPILE(pseudo_synchronous_sgd, sgd, no_prediction)
COMPILE(pseudo_synchronous_sgd, sgd, no_prediction, int)
COMPILE(pseudo_synchronous_sgd, sgd, exponential_smoothing)
COMPILE(pseudo_synchronous_sgd, sgd, exponential_smoothing, int)
COMPILE(pseudo_synchronous_sgd, sgd, linear_extrapolation)
COMPILE_FOR(mixed_model, pseudo_synchronous_sgd, sgd)

COMPILE(lazy_sgd, sgd)
COMPILE_FOR(mixed_model, lazy_sgd, sgd)

COMPILE(scheme, periodic_delay, gradient_averaging<delay_compensation, adamw>)
COMPILE(scheme, delay, gradient_averaging<no_prediction, sgd>)
COMPILE(scheme, delay, gradient_averaging<exponential_smoothing, sgd>)
COMPILE(scheme, delay, gradient_averaging<exponential_smoothing, adamw>)
COMPILE(scheme, delay, gradient_averaging<linear_extrapolation, sgd>)
COMPILE(scheme, delay, gradient_averaging<delay_compensation, sgd>)
COMPILE(scheme, delay, gradient_averaging<adaptive_exponential_smoothing<fixed_gain>, sgd>)
COMPILE(scheme, delay, gradient_averaging<adaptive_exponential_smoothing<cosine_gate>, sgd>)
COMPILE(scheme, delay, gradient_averaging<adaptive_smoothing, sgd>)
COMPILE(scheme, delay, gradient_averaging<no_prediction, sgd>, scheme_options)
COMPILE(scheme, delay, gradient_averaging<adaptive_smoothing, sgd>, scheme_options)
