#pragma once

#include <algorithm>
#include <cstddef>
#include <span>

#include "../../matrix_product.hpp"
#include "../elements/loop.hpp"
#include "../elements/message_layout.hpp"
#include "factor_refs.hpp"
#include "header.hpp"

namespace syncopate::detail {

/// How factors of a fully connected layer are laid out in two messages: one that all ranks gather, of the errors of
/// each rank, its header, and, replicated, its activations; and, sharded, one that ranks exchange, of the activations
/// that each of them needs.
class factors {
 public:
  factors(const factored_tensors& of, int rank, int ranks)
      : inputs_(of.layer.inputs),
        outputs_(of.layer.outputs),
        rows_(of.layer.largest_batch),
        ranks_(static_cast<std::size_t>(ranks)),
        rank_(static_cast<std::size_t>(rank)),
        has_bias_(of.has_bias),
        sharded_(of.sharded) {}

  /// Whether each rank forms its own part of the gradient only.
  bool sharded() const { return sharded_; }

  /// Of the matrix's rows, and of the bias, those that belong to one rank; the last ranks may have fewer.
  std::size_t inputs_each() const { return sharded_ ? (inputs_ + ranks_ - 1) / ranks_ : inputs_; }
  std::size_t bias_each() const { return !has_bias_ ? 0 : sharded_ ? (outputs_ + ranks_ - 1) / ranks_ : outputs_; }
  /// Elements of a rank's part of the gradient: the matrix's, then the bias's.
  std::size_t part() const { return inputs_each() * outputs_ + bias_each(); }

  /// Cuts the layer's tensors, a matrix by its rows, and a bias, into a message's blocks.
  void cut(std::span<const slice> tensors, message_layout& layout) const {
    for (std::size_t block = 0; block < layout.blocks; ++block) {
      std::size_t offset = block * layout.stride;
      for (const slice& tensor : tensors) {
        const std::size_t each = &tensor == &tensors.front() ? inputs_each() * outputs_ : bias_each();
        const std::size_t from = std::min(block * each, tensor.size);
        layout.add(block, {tensor.tensor, std::min(each, tensor.size - from), from, offset});
        offset += each;
      }
    }
  }

  /// Elements: of one rank's block of what is gathered, of all of it, and of what is exchanged.
  std::size_t stride() const { return rows_ * (outputs_ + (sharded_ ? 0 : inputs_)) + header_elements; }
  std::size_t gathered() const { return ranks_ * stride(); }
  std::size_t exchanged() const { return sharded_ ? ranks_ * rows_ * inputs_each() : 0; }

  /// What this rank has packed.
  template <class T>
  std::span<T> own_of(std::span<T> gathered) const {
    return gathered.subspan(rank_ * stride(), stride() - header_elements);
  }
  /// Where a rank's header is in the gathered message.
  template <class T>
  std::span<T> header_of(std::span<T> gathered, std::size_t rank) const {
    return gathered.subspan((rank + 1) * stride() - header_elements, header_elements);
  }
  template <class T>
  agreed_headers read(std::span<const T> gathered, std::int64_t step) const {
    return landed_headers<T>(gathered.subspan(stride() - header_elements), header_elements, stride(),
                             static_cast<int>(ranks_), step)
        .read();
  }

  /// Writes this rank's factors, with errors weighted by its samples, and zeros for what its mini-batch lacks.
  template <class T>
  void pack(const factor_refs& own, T samples, std::span<T> gathered, std::span<T> exchanged) const {
    const std::span<T> block = own_of(gathered);
    std::fill_n(block.data(), block.size(), T(0));
    std::fill_n(exchanged.data(), exchanged.size(), T(0));
    const T* const activations = static_cast<const T*>(own.activations);
    const T* const errors = static_cast<const T*>(own.errors);
    T* const weighted = block.data();
    for_each_element(own.rows * outputs_,
                     [=](std::size_t i) SYNCOPATE_INLINE_LAMBDA { weighted[i] = errors[i] * samples; });
    if (!sharded_) {
      std::copy_n(activations, own.rows * inputs_, block.data() + rows_ * outputs_);
      return;
    }
    for (std::size_t rank = 0; rank < ranks_; ++rank)
      for (std::size_t row = 0; row < own.rows; ++row) {
        const std::size_t first = std::min(rank * inputs_each(), inputs_);
        const std::size_t count = std::min(inputs_each(), inputs_ - first);
        std::copy_n(activations + row * inputs_ + first, count,
                    exchanged.data() + (rank * rows_ + row) * inputs_each());
      }
  }

  /// Forms this rank's part of the sum of gradients, in the order of ranks.
  template <class T>
  void form(std::span<const T> gathered, std::span<const T> exchanged, std::span<T> part,
            const matrix_product& product) const {
    const std::span<T> bias = part.subspan(inputs_each() * outputs_, bias_each());
    std::fill_n(bias.data(), bias.size(), T(0));
    const std::size_t first = sharded_ ? std::min(rank_ * bias_each(), outputs_) : 0;
    const std::size_t count = std::min(bias.size(), outputs_ - first);
    for (std::size_t rank = 0; rank < ranks_; ++rank) {
      const T* const errors = gathered.data() + rank * stride();
      const T* const activations =
          sharded_ ? exchanged.data() + rank * rows_ * inputs_each() : errors + rows_ * outputs_;
      product(product_of_factors<T>{activations, errors, part.data(), rows_, inputs_each(), outputs_, rank > 0});
      for (std::size_t row = 0; row < rows_; ++row) {
        const T* const from = errors + row * outputs_ + first;
        T* const to = bias.data();
        for_each_element(count, [=](std::size_t i) SYNCOPATE_INLINE_LAMBDA { to[i] += from[i]; });
      }
    }
  }

 private:
  std::size_t inputs_, outputs_, rows_, ranks_, rank_;
  bool has_bias_, sharded_;
};

}  // namespace syncopate::detail
