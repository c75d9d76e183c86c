#pragma once

#include <cstddef>
#include <string>

#include "../error.hpp"

namespace syncopate::detail {

/// Throws `communication_error` where elements cannot be cut into one equal block for each rank.
inline void require_equal_blocks(std::size_t elements, int ranks) {
  if (elements % static_cast<std::size_t>(ranks) != 0)
    throw communication_error("syncopate: " + std::to_string(elements) + " elements cannot be cut into " +
                              std::to_string(ranks) + " equal blocks, one for each rank");
}

}  // namespace syncopate::detail
