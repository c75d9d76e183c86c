#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "../../error.hpp"
#include "../../tensor.hpp"
#include "../by_rank.hpp"
#include "../collective_call.hpp"
#include "../elements/loop.hpp"

namespace syncopate::detail {

using team_clock = std::chrono::steady_clock;

/// Of elements that move: stays in the first-level cache until it is written to every rank, and outweighs the lock
/// taken for it.
inline constexpr std::size_t part_bytes = std::size_t{16} << 10;

/// Parts of a call's work, which different ranks can do at the same time: at least one.
inline std::size_t parts_of(const collective_call& call) {
  return call.moves_elements() ? std::max<std::size_t>(1, (call.bytes() + part_bytes - 1) / part_bytes) : 1;
}

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
  enum class fault { disagreement, peer_failure, stall };
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
  fault failed_by{};    ///< what happened, if it failed
  std::string failure;  ///< and how to say it

  [[noreturn]] void throw_failure() const {
    switch (failed_by) {
      case fault::disagreement:
        break;
      case fault::peer_failure:
        throw peer_failure(failure);
      case fault::stall:
        throw stalled(failure);
    }
    throw communication_error(failure);
  }

  /// The sentence that says who called what.
  std::string disagreement() const {
    return "syncopate: ranks called different things as operation " + std::to_string(number) +
           " of their channel: " + by_rank(static_cast<int>(contributions.size()), [&](int rank) {
             return contributions[static_cast<std::size_t>(rank)].call.text();
           });
  }
};

/// Calls `visit(owner, begin, length)` for those elements of a part that lie in one rank's block.
template <Element T, class Visitor>
void for_each_block_of_part(std::span<contribution> contributions, std::size_t part, Visitor visit) {
  constexpr std::size_t longest = part_bytes / sizeof(T);
  const std::size_t size = contributions[0].call.size, block = size / contributions.size();
  const std::size_t end = std::min(size, (part + 1) * longest);
  for (std::size_t begin = part * longest; begin < end;) {
    const std::size_t owner = begin / block, length = std::min(end, (owner + 1) * block) - begin;
    visit(owner, begin, length);
    begin += length;
  }
}

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

/// The same in each rank's own block only.
template <Element T>
void reduce_scatter_part(std::span<contribution> contributions, std::size_t part) noexcept {
  for_each_block_of_part<T>(contributions, part, [&](std::size_t owner, std::size_t begin, std::size_t length) {
    std::array<T, part_bytes / sizeof(T)> partial;  // the owner's own summand has to wait for those before it
    T* const sum = partial.data();
    std::copy_n(static_cast<const T*>(contributions[0].data) + begin, length, sum);
    for (const auto& other : contributions.subspan(1)) {
      const T* const summand = static_cast<const T*>(other.data) + begin;
      for_each_element(length, [=](std::size_t i) SYNCOPATE_INLINE_LAMBDA { sum[i] += summand[i]; });
    }
    std::copy_n(sum, length, static_cast<T*>(contributions[owner].data) + begin);
  });
}

/// Every rank's own block in place of the others' idea of it.
template <Element T>
void gather_blocks_part(std::span<contribution> contributions, std::size_t part) noexcept {
  for_each_block_of_part<T>(contributions, part, [&](std::size_t owner, std::size_t begin, std::size_t length) {
    const T* const from = static_cast<const T*>(contributions[owner].data) + begin;
    for (std::size_t other = 0; other < contributions.size(); ++other)
      if (other != owner) std::copy_n(from, length, static_cast<T*>(contributions[other].data) + begin);
  });
}

/// Block j of rank i and block i of rank j, in place of each other. A part is begun by the higher rank's blocks.
template <Element T>
void exchange_blocks_part(std::span<contribution> contributions, std::size_t part) noexcept {
  const std::size_t block = contributions[0].call.size / contributions.size();
  for_each_block_of_part<T>(contributions, part, [&](std::size_t owner, std::size_t begin, std::size_t length) {
    for (std::size_t other = 0; other < owner; ++other) {
      T* const here = static_cast<T*>(contributions[other].data) + begin;
      std::swap_ranges(here, here + length,
                       static_cast<T*>(contributions[owner].data) + other * block + (begin - owner * block));
    }
  });
}

}  // namespace syncopate::detail
