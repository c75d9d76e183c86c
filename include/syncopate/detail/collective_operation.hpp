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
#include "elementwise.hpp"

namespace syncopate::detail {

using team_clock = std::chrono::steady_clock;

/// Of a sum: stays in the first-level cache until it is written to every rank, and outweighs the lock taken for it.
inline constexpr std::size_t part_bytes = std::size_t{16} << 10;

/// What a rank called. The calls of all ranks with the same number on a channel have to be equal.
struct collective_call {
  enum class kind { sum_of_floats, sum_of_doubles, broadcast, all_gather, duplicate };

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

  /// Parts of the work, which different ranks can do at the same time: at least one.
  std::size_t parts() const { return is_sum() ? std::max<std::size_t>(1, (bytes() + part_bytes - 1) / part_bytes) : 1; }

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
  using work = void (*)(std::span<contribution>, std::size_t part) noexcept;

  explicit collective_operation(std::size_t ranks) : contributions(ranks), holders(ranks) {}

  std::vector<contribution> contributions;
  std::size_t number = 0;   ///< on its channel, from 0
  std::size_t arrived = 0;  ///< ranks that called it
  std::size_t holders;      ///< ranks that have yet to see it end
  phase state = phase::gathering;
  work do_part = nullptr;
  std::size_t parts = 0;     ///< of its work, known once it is working
  std::size_t begun = 0;     ///< parts that some rank does or has done
  std::size_t finished = 0;  ///< parts that are done
  team_clock::time_point landed_at;
  std::string failure;       ///< what happened, if it failed
  bool failed_peer = false;  ///< whether it failed because a rank did

  /// The sentence that says who called what.
  std::string disagreement() const {
    return "syncopate: ranks called different things as operation " + std::to_string(number) +
           " of their channel: " + by_rank(static_cast<int>(contributions.size()), [&](int rank) {
             return contributions[static_cast<std::size_t>(rank)].call.text();
           });
  }
};

/// ((r0 + r1) + r2) + … in place of every summand.
template <Element T>
void sum_part(std::span<contribution> contributions, std::size_t part) noexcept {
  constexpr std::size_t longest = part_bytes / sizeof(T);
  const std::size_t begin = part * longest;
  const std::size_t length = std::min(longest, contributions[0].call.size - begin);
  T* const sum = static_cast<T*>(contributions[0].data) + begin;
  for (const auto& other : contributions.subspan(1)) {
    const T* const summand = static_cast<const T*>(other.data) + begin;
    for_each_element(length, [=](std::size_t i) SYNCOPATE_INLINE_LAMBDA { sum[i] += summand[i]; });
  }
  for (const auto& other : contributions.subspan(1)) std::copy_n(sum, length, static_cast<T*>(other.data) + begin);
}

}  // namespace syncopate::detail
