#pragma once

/// The library's version; ranks built against different versions refuse to work together.
#define SYNCOPATE_VERSION_MAJOR 0
#define SYNCOPATE_VERSION_MINOR 1
#define SYNCOPATE_VERSION_PATCH 0

namespace syncopate {

inline constexpr int version =
    SYNCOPATE_VERSION_MAJOR * 10000 + SYNCOPATE_VERSION_MINOR * 100 + SYNCOPATE_VERSION_PATCH;

}  // namespace syncopate
