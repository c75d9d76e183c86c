#include "shipped.hpp"

using namespace syncopate;

STEP_OF(float, fixed_delay, gradient_averaging<no_prediction, sgd>);
STEP_OF(float, fixed_delay, gradient_averaging<exponential_smoothing, sgd>);
STEP_OF(float, fixed_delay, gradient_averaging<linear_extrapolation, adamw>);
STEP_OF(float, fixed_delay, gradient_averaging<delay_compensation, sgd>);
STEP_OF(float, fixed_delay, gradient_averaging<adaptive_exponential_smoothing<>, adamw>);
