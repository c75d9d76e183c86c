#pragma once

#include <cstddef>
#include <exception>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "detail/bodies.hpp"
#include "detail/engine/engine.hpp"
#include "factor_exchange.hpp"
#include "memory_report.hpp"
#include "statistics.hpp"
#include "training_signal.hpp"
#if SYNCOPATE_BODIES
#include "detail/engine/engine_start.hpp"
#include "detail/engine/engine_state.hpp"
#include "detail/engine/engine_step.hpp"
#include "detail/engine/kept.hpp"
#endif

namespace syncopate {

/// What can be asked of any scheme, whatever its policies and tensors: a reference to it is enough for hooks in the
/// middle of forward and backward, for logs, and for schedules of learning rates. See `update_scheme` for the rest. A
/// scheme that was moved from has nothing left to do but to be destroyed: these calls throw `usage_error` then, but for
/// `fail`, which does nothing.
///
/// A step, layer by layer, is
///
///     scheme.begin_step(weights);
///     for (std::size_t i = 0; i < layers; ++i) {
///       scheme.before_forward(i);  // waits for what layer i needs, and updates it
///       …                          // forward of layer i
///     }
///     for (std::size_t i = layers; i-- > 0;) {
///       …                                      // backward of layer i
///       scheme.gradient_ready(i, gradient[i]);  // leaves at once, and travels while the other layers are computed
///     }
///     scheme.end_step();
///
/// with bitwise the same weights as by `step`, if the communicator's `sum` adds in the same order as its `start_sum`. A
/// layer is an element of the model's outermost range or tuple: a tensor, or a model of its own. Layers may come in any
/// order. All ranks make the same calls of `begin_step` and `end_step`. Weights change in `before_forward` and
/// `end_step` only, since backward still reads them. Weights and gradients have to stay where they are until
/// `end_step`.
class scheme_base {
 public:
  /// Ends the step: what has not left yet leaves, and each rank's own move is made. Throws `usage_error` if a gradient
  /// is missing, and leaves the step open; unless its layer is among `scheme_options::optional_layers`: it is zero
  /// then.
  void end_step();

  /// Brings a layer's weights up to date: waits for those messages that have travelled with it and are due. Costs
  /// nothing when called again. Where the norm of the mean is bounded, all layers are waited for. Throws `usage_error`
  /// for a layer that is not there, and on all ranks what has gone wrong with a message.
  void before_forward(std::size_t layer);

  /// Gives communication a chance to progress; call it now and then during forward and backward where the communicator
  /// has no thread of its own. Not collective, never blocks.
  void poll();

  /// Tells the other ranks, if the communicator can, that this one goes on no further, and why: they get a
  /// `peer_failure` with this text. For a program that handles an error of its own; a scheme that is destroyed while an
  /// exception passes by does it by itself, but knows only the texts of its own errors. Not collective, never blocks.
  void fail(std::string_view why) noexcept;

  /// Tells the mean loss of this rank's mini-batch, to be averaged over ranks with the message of the next step that
  /// begins, without a message of its own; see `signal`. Not collective.
  void note_loss(double loss);

  /// What all ranks know of the newest mean that has been absorbed in all layers. Not collective, but the same on all
  /// ranks between the same two steps; layer by layer, once all layers have been through `before_forward`.
  const training_signal& signal() const;

  /// What this rank has measured since the scheme was made.
  syncopate::statistics statistics() const;
  /// Bytes that the scheme keeps on this rank.
  memory_report memory() const;

  /// How the gradient of one of `scheme_options::factored_layers` travels, and by what that was chosen. Throws
  /// `usage_error` for another layer.
  const factor_choice& exchange_of(std::size_t layer) const;

  /// This rank's number, and how many there are.
  int rank() const;
  int size() const;

 protected:
  scheme_base() = default;
  scheme_base(scheme_base&&) = default;
  ~scheme_base();

  /// To be called once, by the constructor of what derives from this.
  void runs_on(std::unique_ptr<detail::engine> engine) { engine_ = std::move(engine); }
  /// Throws `usage_error`, which names the call, where the scheme was moved from.
  detail::engine& engine(const char* call) const;
  /// Calls `work(engine)`, and notes what goes wrong in it.
  template <class Work>
  void guarded(const char* call, Work work) {
    detail::engine& here = engine(call);
    here.guarded([&] { work(here); });
  }

 private:
  std::unique_ptr<detail::engine> engine_;
  int exceptions_ = std::uncaught_exceptions();  ///< passing by when it was made; if there are more, one destroys it
};

#if SYNCOPATE_BODIES

SYNCOPATE_FUNCTION detail::engine& scheme_base::engine(const char* call) const {
  if (!engine_) throw usage_error("syncopate: " + std::string(call) + " was called on a scheme that was moved from");
  return *engine_;
}

SYNCOPATE_FUNCTION scheme_base::~scheme_base() {
  const bool passes_by = std::uncaught_exceptions() > exceptions_;
  if (engine_ && engine_->has_started() && passes_by) engine_->fail(engine_->failure());
}

SYNCOPATE_FUNCTION void scheme_base::end_step() {
  guarded("end_step", [](detail::engine& engine) {
    engine.require_open_step("end_step");
    engine.end_step();
    engine.send_back();
  });
}

SYNCOPATE_FUNCTION void scheme_base::before_forward(std::size_t layer) {
  guarded("before_forward", [&](detail::engine& engine) { engine.before_forward(layer); });
}

SYNCOPATE_FUNCTION void scheme_base::poll() { engine("poll").poll(); }

SYNCOPATE_FUNCTION void scheme_base::fail(std::string_view why) noexcept {
  if (engine_) engine_->fail(why);
}

SYNCOPATE_FUNCTION void scheme_base::note_loss(double loss) { engine("note_loss").note_loss(loss); }

SYNCOPATE_FUNCTION const training_signal& scheme_base::signal() const { return engine("signal").signal(); }

SYNCOPATE_FUNCTION syncopate::statistics scheme_base::statistics() const { return engine("statistics").statistics(); }

SYNCOPATE_FUNCTION memory_report scheme_base::memory() const {
  detail::kept_memory memory;
  engine("memory").show_parts(memory);
  return memory.report;
}

SYNCOPATE_FUNCTION const factor_choice& scheme_base::exchange_of(std::size_t layer) const {
  return engine("exchange_of").exchange_of(layer);
}

SYNCOPATE_FUNCTION int scheme_base::rank() const { return engine("rank").ranks().rank(); }
SYNCOPATE_FUNCTION int scheme_base::size() const { return engine("size").ranks().size(); }

#endif

}  // namespace syncopate
