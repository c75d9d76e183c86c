#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "../error.hpp"
#include "../factor_exchange.hpp"
#include "../scheme_options.hpp"
#include "layers.hpp"
#include "layout.hpp"

namespace syncopate::detail {

/// A layer that is handed in as factors.
struct factored {
  factored_layer layer;
  factor_choice choice;
  std::size_t first, tensors;  ///< of the model
  std::size_t place = 0;       ///< of its bucket, or of its product, among those of its element type

  bool has_bias() const { return tensors == 2; }
  bool travels() const { return choice.exchange != factor_exchange::gradient; }
  /// Throws `usage_error` where its gradient cannot be handed in as such.
  void require_gradient(const char* call) const {
    if (travels())
      throw usage_error("syncopate: " + std::string(call) + " was called, but layer " + std::to_string(layer.layer) +
                        " travels as its factors: hand them in by factors_ready");
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

/// The layers that are handed in as factors. Knows of numbers only.
class factored_layers {
 public:
  /// Throws `configuration_error` and `layout_error`.
  void choose(const scheme_options& options, const layers& all, std::span<const tensor_facts> tensors,
              const factor_support& scheme) {
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

  auto begin() { return all_.begin(); }
  auto end() { return all_.end(); }

  /// Null if the layer is none of them.
  const factored* find(std::size_t layer) const {
    const auto found = std::ranges::find(all_, layer, [](const factored& f) { return f.layer.layer; });
    return found == all_.end() ? nullptr : &*found;
  }

  /// Throws `usage_error`.
  const factored& at(std::size_t layer, const char* otherwise) const {
    if (const factored* const f = find(layer)) return *f;
    throw usage_error("syncopate: layer " + std::to_string(layer) + otherwise +
                      " is not among scheme_options::factored_layers");
  }

 private:
  static bool fits(const factored_layer& wanted, std::span<const tensor_facts> tensors) {
    if (tensors.empty() || tensors.size() > 2 || tensors[0].size != wanted.inputs * wanted.outputs) return false;
    return tensors.size() == 1 ||
           (tensors[1].size == wanted.outputs && tensors[1].element_bytes == tensors[0].element_bytes);
  }

  std::vector<factored> all_;
};

}  // namespace syncopate::detail
