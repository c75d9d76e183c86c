// What no policy changes, compiled once: the one source of the target syncopate::compiled. See bodies.hpp.
#define SYNCOPATE_COMPILES
#include "../checkpoint.hpp"
#include "../syncopate.hpp"
