#pragma once

#include <cstddef>
#include <string>

namespace syncopate::detail {

/// What a rank called. The calls of all ranks with the same number on a channel have to be equal.
struct collective_call {
  enum class kind { sum_of_floats, sum_of_doubles, broadcast, all_gather, duplicate, creation };

  kind operation{};
  std::size_t size = 0;  ///< elements of a sum, bytes of a broadcast, bytes per rank of an all_gather
  int root = 0;          ///< of a broadcast

  bool operator==(const collective_call&) const = default;

  bool is_sum() const { return operation == kind::sum_of_floats || operation == kind::sum_of_doubles; }

  /// What a rank puts in.
  std::size_t bytes() const {
    return size * (operation == kind::sum_of_floats    ? sizeof(float)
                   : operation == kind::sum_of_doubles ? sizeof(double)
                                                       : 1);
  }

  std::string text() const {
    const std::string amount = std::to_string(size);
    switch (operation) {
      case kind::sum_of_floats:
        return "a sum of " + amount + " floats";
      case kind::sum_of_doubles:
        return "a sum of " + amount + " doubles";
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
