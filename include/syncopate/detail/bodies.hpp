#pragma once

/// Where bodies are compiled. By default the library is header-only: whoever includes a header gets all of it. With
/// SYNCOPATE_COMPILED, which the target syncopate::compiled defines, what no policy changes is only declared, and
/// defined once, in detail/compiled.cpp.
#if !defined(SYNCOPATE_COMPILED)
#define SYNCOPATE_FUNCTION inline
#define SYNCOPATE_BODIES 1
#elif defined(SYNCOPATE_COMPILES)
#define SYNCOPATE_FUNCTION
#define SYNCOPATE_BODIES 1
#else
#define SYNCOPATE_BODIES 0
#endif
