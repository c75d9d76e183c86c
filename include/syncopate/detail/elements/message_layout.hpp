#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "../bodies.hpp"
#include "loop.hpp"
#include "slice.hpp"

namespace syncopate::detail {

/// How tensors that travel together lie in a message: in one block, or, where ranks share the work, in one for each.
struct message_layout {
  std::vector<slice> sent;  ///< all of them
  std::vector<slice> kept;  ///< what this rank keeps up to date
  std::size_t size = 0;     ///< elements of a block, headers aside
  std::size_t stride = 0;   ///< and with them
  std::size_t blocks = 1;
  std::size_t own = 0;  ///< this rank's block
  bool shared = false;  ///< whether the other blocks are kept up to date by other ranks

  /// Of a whole message.
  std::size_t elements() const { return blocks * stride; }
  /// The first element that this rank keeps up to date.
  std::size_t first() const { return own * stride; }

  /// Notes a slice of a tensor, in a block.
  void add(std::size_t block, slice part);
  /// Cuts what travels together into blocks of equal length, whatever tensors that cuts. Precondition: all but the
  /// slices is set.
  void cut(std::span<const slice> tensors);

 private:
  std::size_t groups_ = 0;
};

#if SYNCOPATE_BODIES

SYNCOPATE_FUNCTION void message_layout::add(std::size_t block, slice part) {
  part.first_group = groups_;
  sent.push_back(part);
  if (block != own) return;
  kept.push_back(part);
  groups_ += (part.size + chunk_length - 1) / chunk_length;
}

SYNCOPATE_FUNCTION void message_layout::cut(std::span<const slice> tensors) {
  std::size_t begin = 0;
  for (const slice& tensor : tensors) {
    std::size_t from = 0;
    do {
      std::size_t block = size > 0 ? begin / size : 0;
      if (block > blocks - 1) block = blocks - 1;
      const std::size_t rest = tensor.size - from, room = (block + 1) * size - begin, count = rest < room ? rest : room;
      add(block, {tensor.tensor, count, from, begin + block * (stride - size)});
      from += count;
      begin += count;
    } while (from < tensor.size);
  }
}

#endif

}  // namespace syncopate::detail
