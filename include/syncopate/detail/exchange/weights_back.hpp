#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <span>
#include <utility>

#include "../../tensor.hpp"
#include "../elements/buffer.hpp"
#include "../elements/message_layout.hpp"
#include "block_header.hpp"
#include "transfer.hpp"

namespace syncopate::detail {

/// The second leg of a message whose work ranks share: every rank's block of the weights that it has led to, in the
/// memory of that message, travels to all.
template <Element T>
class weights_back {
 public:
  weights_back(wire& on, const message_layout& layout, std::size_t header_length)
      : layout_(layout), header_length_(header_length), gather_(on, sizeof(T)) {}

  /// Collective. Writes this rank's block of the message, with a header, and sends it.
  void send(buffer<T>& message, const void* weights, const header& own, const agreed_headers& read, double squares) {
    const std::span<T> block = message.elements().subspan(layout_.first(), layout_.stride);
    std::copy_n(static_cast<const T*>(weights), layout_.size, block.begin());
    write_gathered_header(block.subspan(layout_.size), own, read, squares);
    try {
      gather_.start(collective::all_gather, message.data(), message.size(), false);
    } catch (...) {
      std::move(message).abandon();
      throw;
    }
  }
  /// As of `transfer`.
  bool test() { return gather_.test(); }
  bool complete() noexcept { return gather_.complete(); }
  void wait(bool counts, measurement& measured, bucket_statistics& taken) { gather_.wait(counts, measured, taken); }

  /// Of a message whose blocks are there. Throws `communication_error`.
  agreed_headers read(const buffer<T>& message, int ranks, std::int64_t step) const {
    return read_gathered_headers(first_header(message), header_length_, layout_.stride, ranks, step);
  }
  /// The sum of squares of all ranks' blocks of the sum, which travels with them.
  double squares(const buffer<T>& message, int ranks) const {
    return read_squares_of_sum(first_header(message), header_length_, layout_.stride, ranks);
  }

 private:
  std::span<const T> first_header(const buffer<T>& message) const { return message.elements().subspan(layout_.size); }

  const message_layout& layout_;
  std::size_t header_length_;
  transfer gather_;
};

}  // namespace syncopate::detail
