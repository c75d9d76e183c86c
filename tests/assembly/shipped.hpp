#pragma once

#include <syncopate/detail/sweep/sweep.hpp>
#include <syncopate/syncopate.hpp>

/// The loops of an averaging's formulas, to be looked at.
#define LOOPS_OF(T, ...) template class syncopate::detail::sweep<T, __VA_ARGS__>
