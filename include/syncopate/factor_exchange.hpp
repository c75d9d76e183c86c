#pragma once

#include <array>
#include <cstddef>
#include <string>

#include "detail/validate.hpp"
#include "error.hpp"

namespace syncopate {

/// How ranks come by the sum of their gradients of a fully connected layer, which is a product of the activations that
/// went in and the errors that came back, two matrices that are often much smaller (Lee et al., MLHPC 2018).
enum class factor_exchange {
  automatic,   ///< what costs least by `choose_factor_exchange`
  gradient,    ///< the product is formed first, and summed as any other gradient
  replicated,  ///< every rank gathers all factors, and forms the whole product
  sharded      ///< every rank gets the factors of its own part of the product; with `sharded_averaging` only
};

/// A layer whose gradient is handed in as its factors. Its first tensor is a matrix of `inputs` x `outputs`, row by
/// row; a second one, if there is any, a bias of `outputs` elements, whose gradient is the sum of the errors' rows.
struct factored_layer {
  std::size_t layer = 0;
  std::size_t inputs = 1, outputs = 1;
  std::size_t largest_batch = 1;  ///< samples in a rank's mini-batch at most
  factor_exchange exchange = factor_exchange::automatic;

  /// Throws `configuration_error`.
  void validate() const {
    detail::require_at_least(inputs, 1, "factored_layer.inputs");
    detail::require_at_least(outputs, 1, "factored_layer.outputs");
    detail::require_at_least(largest_batch, 1, "factored_layer.largest_batch");
  }
};

/// What was chosen for a layer, and what that was chosen by.
struct factor_choice {
  factor_exchange exchange;
  /// Elements that a rank sends in a step: gradient, replicated, sharded.
  std::array<double, 3> words{};
  /// Floating-point operations of the products that a rank forms; likewise.
  std::array<double, 3> operations{};

  /// "replicated: 7.5e+06 words and 5.4e+10 operations; gradient: …".
  std::string text() const {
    constexpr std::array<const char*, 3> names{"gradient", "replicated", "sharded"};
    const auto of = [&](std::size_t way) {
      return std::string(names[way]) + ": " + detail::text(words[way]) + " words and " + detail::text(operations[way]) +
             " operations per rank and step";
    };
    const std::size_t chosen = static_cast<std::size_t>(exchange) - 1;
    std::string all = of(chosen);
    for (std::size_t way = 0; way < names.size(); ++way)
      if (way != chosen) all += "; " + of(way);
    return all;
  }
};

/// Of P ranks with B samples in all, a layer of n x m sends 2(P−1)/P·nm words as a gradient; (P−1)/P·B(n + m)
/// replicated; and (P−1)/P·(nB/P + mB + nm) sharded, the weights that are gathered in the end included (Lee et al.). A
/// product of all factors takes 2nmB operations: P times as many as of one rank's, which `words_per_operation` weighs
/// against words: the rate at which a rank sends, over the rate at which it multiplies.
inline factor_choice choose_factor_exchange(const factored_layer& layer, int ranks, bool may_shard,
                                            double words_per_operation) {
  layer.validate();
  const auto n = static_cast<double>(layer.inputs), m = static_cast<double>(layer.outputs);
  const double others = (ranks - 1.) / ranks, one_batch = static_cast<double>(layer.largest_batch),
               all = one_batch * ranks, product = 2 * n * m * one_batch;
  factor_choice choice{layer.exchange,
                       {2 * others * n * m, others * all * (n + m), others * (n * one_batch + m * all + n * m)},
                       {product, product * ranks, product}};
  if (choice.exchange == factor_exchange::sharded && !may_shard)
    throw configuration_error("syncopate: factors of layer " + std::to_string(layer.layer) +
                              " can be exchanged sharded with a sharded_averaging only");
  if (choice.exchange != factor_exchange::automatic) return choice;
  std::size_t best = 0;
  const auto cost = [&](std::size_t way) { return choice.words[way] + words_per_operation * choice.operations[way]; };
  for (std::size_t way = 1; way < (may_shard ? 3U : 2U); ++way)
    if (cost(way) < cost(best)) best = way;
  choice.exchange = static_cast<factor_exchange>(best + 1);
  return choice;
}

}  // namespace syncopate
