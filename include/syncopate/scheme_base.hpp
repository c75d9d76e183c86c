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
#include "detail/engine/kept.hpp"
#endif

namespace syncopate {

/// What can be asked of any scheme, whatever its policies and tensors: a reference to it is enough for hooks in the
/// middle of forward and backward, for logs, and for schedules of learning rates. See `update_scheme`. A scheme that
/// was moved from has nothing left to do but to be destroyed: its calls throw `usage_error`.
class scheme_base {
 public:
  /// Ends the step: what has not left yet leaves, and each rank's own move is made. Throws `usage_error` if a gradient
  /// is missing, unless its layer is among `scheme_options::optional_layers`: then it is zero. The step is still open
  /// then.
  void end_step();

  /// Brings a layer's weights up to date: waits for what has travelled with it, if the delay policy says that it is
  /// due. Costs nothing when called again. Where the norm of the mean is bounded, all layers are waited for.
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

  /// What this rank has measured so far, and what it keeps.
  syncopate::statistics statistics() const;
  memory_report memory() const;

  /// How the gradient of one of `scheme_options::factored_layers` travels, and by what that was chosen. Throws
  /// `usage_error` for another layer.
  const factor_choice& exchange_of(std::size_t layer) const;

  int rank() const;
  int size() const;

 protected:
  scheme_base() = default;
  scheme_base(scheme_base&&) = default;
  ~scheme_base();

  void runs_on(std::unique_ptr<detail::engine> engine) { engine_ = std::move(engine); }
  detail::engine& engine(const char* call) const;
  /// Calls `work(engine)`, and notes what goes wrong in it.
  template <class Work>
  void guarded(const char* call, Work work) {
    detail::engine& here = engine(call);
    here.guarded([&] { work(here); });
  }

 private:
  std::unique_ptr<detail::engine> engine_;
  int exceptions_ = std::uncaught_exceptions();
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
