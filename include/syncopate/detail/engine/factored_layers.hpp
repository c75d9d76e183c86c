#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "../../error.hpp"
#include "../../factor_exchange.hpp"
#include "../../matrix_product.hpp"
#include "../../scheme_options.hpp"
#include "../bodies.hpp"
#include "../elements/buffer.hpp"
#include "../elements/slice.hpp"
#include "../exchange/exchange.hpp"
#include "binding.hpp"
#include "layers.hpp"
#include "layout.hpp"

namespace syncopate::detail {

/// A layer that is handed in as factors.
struct factored {
  factored_layer layer;
  factor_choice choice;
  std::size_t first, tensors;    ///< of the model
  exchange* carrier = nullptr;   ///< of the factors, where they travel
  buffer<std::byte> gradient{};  ///< formed here, where that travels

  bool has_bias() const { return tensors == 2; }
  /// Whether factors travel; else the gradient is formed here, and travels like any other.
  bool travels() const { return choice.exchange != factor_exchange::gradient; }
  /// What the exchange of its factors has to know.
  factored_tensors to_carry(const matrix_product& product) const {
    return {layer, has_bias(), choice.exchange == factor_exchange::sharded, product};
  }
};

/// What a scheme can do, of what factors need.
struct factor_support {
  bool mean_alone;     ///< averaging and policies use nothing but the mean gradient
  bool own_gradients;  ///< norms of each rank's own gradient are wanted
  bool every_step;     ///< a message leaves at every step
  bool in_halves;      ///< the communicator is a `ShardingCommunicator`
  bool sharded;        ///< ranks share the work
  int ranks;
};

/// The layers that are handed in as factors.
class factored_layers {
 public:
  /// At construction. Throws `configuration_error` and `layout_error`.
  void choose(const scheme_options& options, const layers& all, std::span<const tensor_facts> tensors,
              const factor_support& scheme);
  /// Makes room for gradients that are formed of factors here.
  void make_gradients(std::span<const tensor_facts> tensors);

  /// The layer that travels as factors whose last tensor this is, or null.
  factored* that_ends_with(std::size_t tensor);

  /// Throws `usage_error` where some layer's gradient, or that of `layer`, cannot be handed in as such.
  void require_gradients(const char* call) const;
  void require_gradient(std::size_t layer, const char* call) const;

  /// Takes this rank's factors: a tensor each. Throws `usage_error` and `layout_error`.
  void give(std::size_t layer, const tensor_ref& activations, const tensor_ref& errors, binding& gradients);
  /// For a layer that has none in a step.
  void give_none(std::size_t layer);

  /// Throws `usage_error`, in which `otherwise` comes behind the layer's number.
  const factored& at(std::size_t layer, const char* otherwise) const;

 private:
  /// Whether the tensors are a matrix of the wanted size, alone or with a bias.
  static bool fits(const factored_layer& wanted, std::span<const tensor_facts> tensors);
  /// Null where there is none.
  const factored* find(std::size_t layer) const;
  /// Samples of a mini-batch, given numbers of elements. Throws `layout_error` where these are no such factors.
  static std::size_t rows_in(const factored_layer& layer, std::size_t activations, std::size_t errors);
  /// Forms a gradient of this rank's factors, and binds it.
  void form(factored& of, const factor_refs& own, std::size_t element_bytes, binding& gradients);

  matrix_product product_;
  std::vector<factored> all_;
};

#if SYNCOPATE_BODIES

SYNCOPATE_FUNCTION void factored_layers::choose(const scheme_options& options, const layers& all,
                                                std::span<const tensor_facts> tensors, const factor_support& scheme) {
  product_ = options.product;
  for (const factored_layer& wanted : options.factored_layers) {
    const std::string of = "syncopate: factored layer " + std::to_string(wanted.layer);
    if (wanted.layer >= all.size() || find(wanted.layer))
      throw configuration_error(of + " is given twice, or there is no such layer");
    const layers::layer& layer = all.all()[wanted.layer];
    const std::span<const tensor_facts> of_layer = tensors.subspan(layer.first, layer.tensors);
    if (!fits(wanted, of_layer))
      throw layout_error(of + " is no matrix of " + std::to_string(wanted.inputs) + " x " +
                         std::to_string(wanted.outputs) + ", alone or with a bias");
    if (!scheme.mean_alone)
      throw configuration_error(of + " needs an averaging and policies that use the mean gradient alone");
    if (scheme.own_gradients)
      throw configuration_error(of + " has no gradient of one rank whose norm could be bounded or observed");
    if (!scheme.every_step)
      throw configuration_error(of + " needs a delay policy that launches at every step: factors cannot be added up");
    if (!scheme.in_halves) throw configuration_error(of + " needs a ShardingCommunicator");
    all_.push_back({wanted, choose_factor_exchange(wanted, scheme.ranks, scheme.sharded, options.words_per_operation),
                    layer.first, layer.tensors});
  }
}

SYNCOPATE_FUNCTION void factored_layers::make_gradients(std::span<const tensor_facts> tensors) {
  for (factored& f : all_)
    if (!f.travels())
      f.gradient = buffer<std::byte>(tensors[f.first].element_bytes *
                                     (f.layer.inputs * f.layer.outputs + (f.has_bias() ? f.layer.outputs : 0)));
}

SYNCOPATE_FUNCTION factored* factored_layers::that_ends_with(std::size_t tensor) {
  for (factored& f : all_)
    if (f.travels() && f.first + f.tensors - 1 == tensor) return &f;
  return nullptr;
}

SYNCOPATE_FUNCTION void factored_layers::require_gradients(const char* call) const {
  for (const factored& f : all_) require_gradient(f.layer.layer, call);
}

SYNCOPATE_FUNCTION void factored_layers::require_gradient(std::size_t layer, const char* call) const {
  const factored* const f = find(layer);
  if (f && f->travels())
    throw usage_error("syncopate: " + std::string(call) + " was called, but layer " + std::to_string(layer) +
                      " travels as its factors: hand them in by factors_ready");
}

SYNCOPATE_FUNCTION void factored_layers::give(std::size_t layer, const tensor_ref& activations,
                                              const tensor_ref& errors, binding& gradients) {
  factored& f = all_[static_cast<std::size_t>(&at(layer, " is handed in as its factors, but") - all_.data())];
  const std::size_t bytes = gradients.facts()[f.first].element_bytes;
  if (activations.element_bytes != bytes || errors.element_bytes != bytes)
    throw layout_error("syncopate: the factors of layer " + std::to_string(layer) +
                       " have another element type than its weights");
  const factor_refs own{activations.gradient, errors.gradient, rows_in(f.layer, activations.size, errors.size)};
  if (f.travels())
    f.carrier->give(own);
  else
    form(f, own, bytes, gradients);
}

SYNCOPATE_FUNCTION void factored_layers::give_none(std::size_t layer) {
  const factored* const f = find(layer);
  if (f && f->travels()) f->carrier->give({});
}

SYNCOPATE_FUNCTION const factored& factored_layers::at(std::size_t layer, const char* otherwise) const {
  if (const factored* const f = find(layer)) return *f;
  throw usage_error("syncopate: layer " + std::to_string(layer) + otherwise +
                    " is not among scheme_options::factored_layers");
}

SYNCOPATE_FUNCTION bool factored_layers::fits(const factored_layer& wanted, std::span<const tensor_facts> tensors) {
  if (tensors.empty() || tensors.size() > 2 || tensors[0].size != wanted.inputs * wanted.outputs) return false;
  return tensors.size() == 1 ||
         (tensors[1].size == wanted.outputs && tensors[1].element_bytes == tensors[0].element_bytes);
}

SYNCOPATE_FUNCTION const factored* factored_layers::find(std::size_t layer) const {
  for (const factored& f : all_)
    if (f.layer.layer == layer) return &f;
  return nullptr;
}

SYNCOPATE_FUNCTION std::size_t factored_layers::rows_in(const factored_layer& layer, std::size_t activations,
                                                        std::size_t errors) {
  const std::string of = "syncopate: the factors of layer " + std::to_string(layer.layer);
  if (activations % layer.inputs != 0 || errors % layer.outputs != 0)
    throw layout_error(of + " have " + std::to_string(activations) + " and " + std::to_string(errors) +
                       " elements, which are no whole rows of " + std::to_string(layer.inputs) + " activations and " +
                       std::to_string(layer.outputs) + " errors");
  const std::size_t rows = activations / layer.inputs, others = errors / layer.outputs;
  if (rows != others)
    throw layout_error(of + " are of different mini-batches: " + std::to_string(rows) + " rows of activations and " +
                       std::to_string(others) + " of errors");
  if (rows > layer.largest_batch)
    throw layout_error(of + " are of a mini-batch of " + std::to_string(rows) + " samples, but at most " +
                       std::to_string(layer.largest_batch) + " were announced");
  return rows;
}

SYNCOPATE_FUNCTION void factored_layers::form(factored& of, const factor_refs& own, std::size_t element_bytes,
                                              binding& gradients) {
  with_element_of(element_bytes, [&]<class T>(T) {
    const std::size_t inputs = of.layer.inputs, outputs = of.layer.outputs;
    T* const matrix = reinterpret_cast<T*>(of.gradient.data());
    T* const bias = matrix + inputs * outputs;
    const T* const errors = static_cast<const T*>(own.errors);
    product_(product_of_factors<T>{static_cast<const T*>(own.activations), errors, matrix, own.rows, inputs, outputs,
                                   false});
    gradients.bind_own(matrix, of.first);
    if (!of.has_bias()) return;
    for (std::size_t i = 0; i < outputs; ++i) bias[i] = T(0);
    for (std::size_t i = 0; i < own.rows * outputs; ++i) bias[i % outputs] += errors[i];
    gradients.bind_own(bias, of.first + 1);
  });
}

#endif

}  // namespace syncopate::detail
