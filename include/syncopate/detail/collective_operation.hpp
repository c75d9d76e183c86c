#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "../tensor.hpp"
#include "by_rank.hpp"

namespace syncopate::detail {

using team_clock = std::chrono::steady_clock;

/// What a rank called. The calls of all ranks with the same number on a channel have to be equal.
struct collective_call {
  enum class kind { sum_of_floats, sum_of_doubles, broadcast, all_gather, duplicate };

  kind operation{};
  std::size_t size = 0;  ///< elements of a sum, bytes of a broadcast, bytes per rank of an all_gather
  int root = 0;          ///< of a broadcast

  bool operator==(const collective_call&) const = default;

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
        break;
    }
    return "a duplicate";
  }
};

/// One rank's part in an operation.
struct contribution {
  bool arrived = false;
  collective_call call;
  void* data = nullptr;                  ///< in and out
  const void* own = nullptr;             ///< in, of an all_gather
  std::unique_ptr<std::byte[]> adopted;  ///< stands in for `data` once the rank's request is gone
};

/// An operation of a channel. It belongs to the pool of its channel, which reuses it.
struct collective_operation {
  enum class phase { gathering, working, done, failed };

  explicit collective_operation(std::size_t ranks) : contributions(ranks), holders(ranks) {}

  std::vector<contribution> contributions;
  std::size_t number = 0;   ///< on its channel, from 0
  std::size_t arrived = 0;  ///< ranks that called it
  std::size_t holders;      ///< ranks that have yet to see it end
  phase state = phase::gathering;
  team_clock::time_point landed_at;
  std::string failure;       ///< what happened, if it failed
  bool failed_peer = false;  ///< whether it failed because a rank did

  /// The sentence that says who called what.
  std::string disagreement() const {
    return "syncopate: ranks called different things as operation " + std::to_string(number) + " of their channel: " +
           by_rank(static_cast<int>(contributions.size()),
                   [&](int rank) { return contributions[static_cast<std::size_t>(rank)].call.text(); }) +
           ".";
  }
};

/// ((r0 + r1) + r2) + … in place of every summand.
template <Element T>
void sum_contributions(std::span<contribution> contributions) noexcept {
  constexpr std::size_t block = 16384 / sizeof(T);  // stays in the cache until it is written to every rank
  const std::size_t size = contributions[0].call.size;
  for (std::size_t begin = 0; begin < size; begin += block) {
    const std::size_t length = std::min(block, size - begin);
    T* const sum = static_cast<T*>(contributions[0].data) + begin;
    for (const auto& other : contributions.subspan(1)) {
      const T* const summand = static_cast<const T*>(other.data) + begin;
      for (std::size_t i = 0; i < length; ++i) sum[i] += summand[i];
    }
    for (const auto& other : contributions.subspan(1)) std::copy_n(sum, length, static_cast<T*>(other.data) + begin);
  }
}

}  // namespace syncopate::detail
