#pragma once

#include <cstddef>
#include <limits>
#include <vector>

#include "detail/validate.hpp"
#include "error.hpp"
#include "factor_exchange.hpp"
#include "matrix_product.hpp"

namespace syncopate {

/// Tensors travel together until a message has this many bytes; a larger tensor travels alone.
inline constexpr std::size_t default_bucket_bytes = std::size_t{25} << 20;

/// What happens to a gradient with an infinity or a NaN in it. Its rank contributes nothing, and everyone learns of it
/// with the message, so that all ranks do the same at the same step, also for a message that lands late.
enum class non_finite {
  refuse,  ///< `non_finite_error`, on every rank, at the step at which the mean would have been absorbed
  skip,    ///< no rank absorbs that mean: weights, history and momentum stay as they are; `statistics::skipped` counts
  ignore   ///< nobody looks
};

/// Where the global norm, over all tensors, is bounded.
enum class clipping {
  after_averaging,  ///< the norm of the mean gradient, at the step at which it is absorbed
  before_averaging  ///< the norm of each rank's own gradient, before it is sent or used
};

/// What a scheme does besides its policies. All ranks have to be given the same.
struct scheme_options {
  std::size_t bucket_bytes = default_bucket_bytes;
  non_finite non_finite_gradients = non_finite::refuse;
  /// A gradient whose global norm exceeds this is scaled down to it (Pascanu, Mikolov and Bengio, ICML 2013). Infinity:
  /// none is.
  double largest_norm = std::numeric_limits<double>::infinity();
  clipping clip = clipping::after_averaging;

  /// Layers that may have no gradient in a step that is made layer by layer: it is zero then. See
  /// `update_scheme::end_step`.
  std::vector<std::size_t> optional_layers{};

  /// Fully connected layers whose gradients are handed in as their factors, by `update_scheme::factors_ready`, in a
  /// step that is made layer by layer; and what multiplies these.
  std::vector<factored_layer> factored_layers{};
  matrix_product product{};
  /// For the choice of how they travel: words that a rank sends in the time of a floating-point operation.
  double words_per_operation = 1e-3;

  /// Whether norms of gradients are observed, for `update_scheme::signal`: costs two reads of the message. For
  /// averagings that send gradients.
  bool observes_gradients = false;

  bool clips() const { return largest_norm < std::numeric_limits<double>::infinity(); }

  /// Throws `configuration_error`.
  void validate() const {
    if (!(largest_norm > 0))
      throw configuration_error("syncopate: a scheme's largest_norm must be positive, but is " +
                                detail::text(largest_norm));
    for (const factored_layer& layer : factored_layers) layer.validate();
    detail::require_at_least(words_per_operation, 0, "scheme_options.words_per_operation");
    if (!factored_layers.empty() && !product)
      throw configuration_error(
          "syncopate: factored layers need scheme_options.product, which multiplies their factors");
  }
};

}  // namespace syncopate
