#pragma once

#include <cstddef>

#include "../../factor_exchange.hpp"
#include "../../matrix_product.hpp"

namespace syncopate::detail {

/// One rank's activations and errors of a mini-batch, as the user holds them, row by row.
struct factor_refs {
  const void* activations = nullptr;
  const void* errors = nullptr;
  std::size_t rows = 0;
};

/// The tensors of a layer whose factors travel in place of its gradient.
struct factored_tensors {
  factored_layer layer;
  bool has_bias = false;
  bool sharded = false;  ///< whether each rank forms its own part of the gradient only
  matrix_product product{};
};

}  // namespace syncopate::detail
