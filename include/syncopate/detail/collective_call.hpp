#pragma once

#include <cstddef>
#include <string>

namespace syncopate::detail {

/// What a rank called. The calls of all ranks with the same number on a channel have to be equal.
struct collective_call {
  enum class kind { sum, reduce_scatter, gather_blocks, exchange_blocks, broadcast, all_gather, duplicate, creation };

  kind operation{};
  std::size_t size = 0;           ///< elements; of an all_gather those of one rank
  int root = 0;                   ///< of a broadcast
  std::size_t element_bytes = 1;  ///< 4 for floats, 8 for doubles

  bool operator==(const collective_call&) const = default;

  /// Whether it is one that schemes have in flight while they compute.
  bool moves_elements() const { return operation <= kind::exchange_blocks; }

  /// What a rank puts in.
  std::size_t bytes() const { return size * element_bytes; }

  std::string text() const {
    const std::string amount = std::to_string(size);
    const std::string elements = amount + (element_bytes == sizeof(float) ? " floats" : " doubles");
    switch (operation) {
      case kind::sum:
        return "a sum of " + elements;
      case kind::reduce_scatter:
        return "a reduce_scatter of " + elements;
      case kind::gather_blocks:
        return "an all_gather of " + elements + " in place";
      case kind::exchange_blocks:
        return "an all_to_all of " + elements;
      case kind::broadcast:
        return "a broadcast of " + amount + " bytes from rank " + std::to_string(root);
      case kind::all_gather:
        return "an all_gather of " + amount + " bytes per rank";
      case kind::duplicate:
        return "a duplicate";
      case kind::creation:
        break;
    }
    return "the making of a communicator";
  }
};

}  // namespace syncopate::detail
