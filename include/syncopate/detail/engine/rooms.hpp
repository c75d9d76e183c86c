#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

#include "../elements/buffer.hpp"
#include "../exchange/measurement.hpp"
#include "agreement.hpp"
#include "engine.hpp"
#include "factored_layers.hpp"
#include "layers.hpp"
#include "own_gradients.hpp"
#include "pipeline.hpp"
#include "scheme_state.hpp"

namespace syncopate::detail {

/// What an engine works with, apart from its interface: who calls an engine need not know what it is made of.
struct engine::rooms {
  rooms(std::unique_ptr<detail::wire> on, std::unique_ptr<schedules> by, std::unique_ptr<policies> with,
        const scheme_options& chosen)
      : wire(std::move(on)),
        when(std::move(by)),
        averaging(std::move(with)),
        traits(averaging->traits()),
        options(chosen),
        flow(*wire, *averaging, options, measured) {}

  std::unique_ptr<detail::wire> wire;
  std::unique_ptr<schedules> when;
  std::unique_ptr<policies> averaging;
  averaging_traits traits;  ///< of `averaging`
  scheme_options options;
  measurement measured;
  scheme_state state;
  binding model;
  detail::layers layers;
  factored_layers factored;
  own_gradients own;
  pipeline flow;
  scheme_facts facts{};
  bool started = false;
  std::int64_t clock = 0;   ///< the number of the next step, the same on all ranks
  double loss = 0;          ///< of the next mini-batch
  buffer<std::byte> zeros;  ///< stands for the gradient of an optional layer that has none in a step

  // The step that is being made:
  calls call = calls::step;               ///< what the program called
  double samples = 0;                     ///< of this rank
  std::span<const tensor_ref> gradients;  ///< what is contributed: the model's tensors, or scaled ones
  std::size_t contributed = 0;            ///< parts that have been, in the order of departure

  /// Whether norms of gradients travel with messages.
  bool observes() const { return options.observes_gradients || when->observes_gradients(); }
  /// Whether the global norm is bounded there.
  bool clips(clipping where) const { return options.clips() && options.clip == where; }
  /// Whether a part may leave before all gradients are there.
  bool may_leave_early() const { return !traits.ranks_differ && !clips(clipping::before_averaging) && samples > 0; }
};

}  // namespace syncopate::detail
