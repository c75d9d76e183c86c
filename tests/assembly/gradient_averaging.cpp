#include "shipped.hpp"

using namespace syncopate;

LOOPS_OF(float, gradient_averaging<no_prediction, sgd>);
LOOPS_OF(float, gradient_averaging<exponential_smoothing, sgd>);
LOOPS_OF(float, gradient_averaging<linear_extrapolation, adamw>);
LOOPS_OF(float, gradient_averaging<delay_compensation, sgd>);
LOOPS_OF(float, gradient_averaging<adaptive_exponential_smoothing<>, adamw>);
