#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>

#include "../error.hpp"
#include "../factor_exchange.hpp"
#include "../matrix_product.hpp"
#include "../tensor.hpp"
#include "elementwise.hpp"
#include "header.hpp"

namespace syncopate::detail {

/// One rank's activations and errors of a mini-batch, as the user holds them.
template <Element T>
struct factor_pair {
  std::span<const T> activations, errors;
  std::size_t rows = 0;
};

/// Checks what a rank hands in for a layer. Throws `layout_error`.
template <Element T>
factor_pair<T> pair_of(const factored_layer& layer, std::span<const T> activations, std::span<const T> errors) {
  const std::string of = "syncopate: the factors of layer " + std::to_string(layer.layer);
  if (activations.size() % layer.inputs != 0 || errors.size() % layer.outputs != 0)
    throw layout_error(of + " have " + std::to_string(activations.size()) + " and " + std::to_string(errors.size()) +
                       " elements, which are no whole rows of " + std::to_string(layer.inputs) + " activations and " +
                       std::to_string(layer.outputs) + " errors");
  const std::size_t rows = activations.size() / layer.inputs, others = errors.size() / layer.outputs;
  if (rows != others)
    throw layout_error(of + " are of different mini-batches: " + std::to_string(rows) + " rows of activations and " +
                       std::to_string(others) + " of errors");
  if (rows > layer.largest_batch)
    throw layout_error(of + " are of a mini-batch of " + std::to_string(rows) + " samples, but at most " +
                       std::to_string(layer.largest_batch) + " were announced");
  return {activations, errors, rows};
}

/// How factors of a fully connected layer are laid out in two messages: one that all ranks gather, of the errors of
/// each rank, its header, and, replicated, its activations; and, sharded, one that ranks exchange, of the activations
/// that each of them needs.
class factors {
 public:
  factors(const factored_layer& layer, bool has_bias, bool sharded, int rank, int ranks)
      : inputs_(layer.inputs),
        outputs_(layer.outputs),
        rows_(layer.largest_batch),
        ranks_(static_cast<std::size_t>(ranks)),
        rank_(static_cast<std::size_t>(rank)),
        has_bias_(has_bias),
        sharded_(sharded) {}

  bool sharded() const { return sharded_; }

  /// Of the matrix's rows, and of the bias, those that belong to one rank; the last ranks may have fewer.
  std::size_t inputs_each() const { return sharded_ ? (inputs_ + ranks_ - 1) / ranks_ : inputs_; }
  std::size_t bias_each() const { return !has_bias_ ? 0 : sharded_ ? (outputs_ + ranks_ - 1) / ranks_ : outputs_; }
  std::size_t outputs() const { return outputs_; }
  /// Elements of a rank's part of the gradient: the matrix's, then the bias's.
  std::size_t part() const { return inputs_each() * outputs_ + bias_each(); }

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
    return read_headers(gathered.subspan(stride() - header_elements), header_elements, stride(), ranks_, step);
  }

  /// Writes this rank's factors, with errors weighted by its samples, and zeros for what its mini-batch lacks.
  template <class T>
  void pack(const factor_pair<T>& own, T samples, std::span<T> gathered, std::span<T> exchanged) const {
    const std::span<T> block = own_of(gathered);
    std::ranges::fill(block, T(0));
    std::ranges::fill(exchanged, T(0));
    const T* const errors = own.errors.data();
    T* const weighted = block.data();
    for_each_element(own.errors.size(),
                     [=](std::size_t i) SYNCOPATE_INLINE_LAMBDA { weighted[i] = errors[i] * samples; });
    if (!sharded_) {
      std::ranges::copy(own.activations, block.begin() + static_cast<std::ptrdiff_t>(rows_ * outputs_));
      return;
    }
    for (std::size_t rank = 0; rank < ranks_; ++rank)
      for (std::size_t row = 0; row < own.rows; ++row) {
        const std::size_t first = std::min(rank * inputs_each(), inputs_);
        const std::size_t count = std::min(inputs_each(), inputs_ - first);
        std::ranges::copy(own.activations.subspan(row * inputs_ + first, count),
                          exchanged.begin() + static_cast<std::ptrdiff_t>((rank * rows_ + row) * inputs_each()));
      }
  }

  /// Makes a rank that has nothing to say contribute nothing.
  template <class T>
  void clear(std::span<T> gathered, std::span<T> exchanged) const {
    pack(factor_pair<T>{}, T(0), gathered, exchanged);
  }

  /// Forms this rank's part of the sum of gradients, in the order of ranks.
  template <class T>
  void form(std::span<const T> gathered, std::span<const T> exchanged, std::span<T> part,
            const matrix_product& product) const {
    const std::span<T> bias = part.subspan(inputs_each() * outputs_, bias_each());
    std::ranges::fill(bias, T(0));
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
