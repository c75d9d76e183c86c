#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <string>

#include "../../error.hpp"
#include "../../scheme_options.hpp"
#include "../../statistics.hpp"
#include "../bodies.hpp"
#include "../exchange/measurement.hpp"
#include "../exchange/wire.hpp"
#include "../elements/buffer.hpp"
#include "agreement.hpp"
#include "binding.hpp"
#include "checkpoint_facts.hpp"
#include "factored_layers.hpp"
#include "layers.hpp"
#include "own_gradients.hpp"
#include "pipeline.hpp"
#include "policies.hpp"
#include "schedule.hpp"
#include "scheme_state.hpp"

namespace syncopate::detail {

/// Keeps time: what of a step happens when, the same on all ranks. A step is
///
///     prepare, bind weights, begin_step
///     for each layer: bind its gradient, gradient_ready
///     end_step
///     for each layer: before_forward
///
/// in which gradients are contributed as soon as they are there, and received when weights are needed; `step` is the
/// same in one go. Knows of no type that a template has; see the façade, `update_scheme`, for what calls mean.
class engine {
 public:
  engine(std::unique_ptr<wire> on, schedules& when, policies& averaging, const scheme_options& options)
      : wire_(std::move(on)),
        when_(when),
        policies_(averaging),
        traits_(averaging.traits()),
        options_(options),
        flow_(*wire_, averaging, options_, measured_) {}
  engine(engine&&) = delete;

  /// At construction: `work` validates, describes and binds the model; what is wrong with it is told by `start`, which
  /// is collective, on all ranks.
  template <class Work>
  void describe(Work work) {
    try {
      work();
    } catch (const std::exception& fault) {
      note_fault(fault);
    }
  }
  void validate() const;
  void add_layer(std::size_t tensors) { layers_.add(tensors); }
  void lay_out();
  void start(std::uint64_t scheme);

  /// Notes what goes wrong in `work`.
  template <class Work>
  void guarded(Work work) {
    try {
      work();
    } catch (const std::exception& error) {
      state_.fail(error.what(), dynamic_cast<const communication_error*>(&error) != nullptr);
      throw;
    }
  }

  /// What has to hold for a step to begin.
  void prepare(const char* call, double samples);
  /// The layer whose gradient is handed in.
  const layers::layer& expect_layer(const char* call, std::size_t layer);
  void prepare_join();
  void prepare_to_resynchronise();
  void require_open_step(const char* call) const;
  void require_between_steps(const char* call) const { state_.require_between_steps(call); }
  void require_between_running_steps(const char* call) const;
  void require_unfinished() const;
  void require_unused(const char* call) const;
  void require_not_failed(const char* call) const;
  void step(double samples);
  void begin_step(double samples);
  void gradient_ready(std::size_t layer);
  void end_step();
  void before_forward(std::size_t layer);
  /// Goes on with weights that travel back as far as there is nothing to wait for. Not in `step`, nor in `join`, where
  /// more may become due than had been when some of them left.
  void send_back() { flow_.send_back(model_.tensors()); }
  void receive_all();
  void throw_refused();
  void join();
  void poll();
  void fail(std::string_view why) noexcept;
  void note_loss(double loss) { loss_ = loss; }

  /// Collective, between two steps. See the façade; what is bound as gradients are weights to be read.
  void agree_on_weights();
  void finish();
  std::uint64_t checksum();
  void resynchronise();
  void save(state_visitor& writer);
  void load(state_visitor& reader);

  binding& model() { return model_; }
  factored_layers& factored() { return factored_; }
  wire& ranks() { return *wire_; }
  const training_signal& signal() const { return flow_.signal(); }
  syncopate::statistics statistics() const;
  const std::string& failure() const { return state_.failure(); }
  void show_parts(state_visitor& visitor);

 private:
  void note_fault(const std::exception& fault);
  void make_parts();
  void supply_missing_gradients();
  void show_state(state_visitor& visitor);
  checkpoint_facts facts_of_checkpoint() const;
  void begin(calls call, double samples, bool waits);
  void inspect_gradients();
  void contribute_ready(pass which);
  void expect_forward();
  bool tick_of_join();
  bool may_leave_early() const;
  bool observes() const { return options_.observes_gradients || when_.observes_gradients(); }
  bool clips(clipping where) const { return options_.clips() && options_.clip == where; }

  std::unique_ptr<wire> wire_;
  schedules& when_;
  policies& policies_;
  averaging_traits traits_;
  scheme_options options_;
  measurement measured_;
  scheme_state state_;
  binding model_;
  layers layers_;
  factored_layers factored_;
  own_gradients own_;
  pipeline flow_;
  scheme_facts facts_{};
  std::int64_t clock_ = 0;  ///< the number of the next step, the same on all ranks
  double loss_ = 0;         ///< of the next mini-batch
  // Of the step that is being made:
  std::size_t contributed_ = 0;              ///< parts
  std::span<const tensor_ref> gradients_{};  ///< what is contributed: the model's tensors, or scaled ones
  double samples_ = 0;
  calls call_ = calls::step;
  buffer<std::byte> zeros_;  ///< stands for the gradient of an optional layer that has none in a step
};

#if SYNCOPATE_BODIES

SYNCOPATE_FUNCTION void engine::prepare(const char* call, double samples) {
  state_.require_running(call);
  state_.require_no_open_step(call);
  if (!(samples >= 0) || !std::isfinite(samples))
    throw usage_error("syncopate: samples must be a finite number of at least 0, but is " + std::to_string(samples));
  validate();
}

SYNCOPATE_FUNCTION void engine::step(double samples) {
  begin(calls::step, samples, true);
  layers_.give_all();
  end_step();
  receive_all();
  throw_refused();
}

SYNCOPATE_FUNCTION void engine::begin_step(double samples) {
  if (when_.adapts()) {  // what has arrived decides what is to leave
    receive_all();
    throw_refused();
  }
  begin(calls::step, samples, false);
  state_.begin_step();
}

SYNCOPATE_FUNCTION void engine::begin(calls call, double samples, bool waits) {
  const bool checks = options_.non_finite_gradients != non_finite::ignore;
  const std::uint64_t values = policies_.hyperparameters();
  for (const auto& of : flow_.fragments()) {
    const bool launches = of->when.launches(clock_);
    if (launches) of->messages.open(clock_, call);
    of->next.begin({clock_, call, samples, loss_, launches, waits && of->when.due(clock_, clock_),
                    checks && (launches || traits_.ranks_differ), observes(), values});
  }
  loss_ = 0;
  call_ = call;
  samples_ = samples;
  gradients_ = model_.tensors();
  contributed_ = 0;
  layers_.expect_gradients();
}

SYNCOPATE_FUNCTION void engine::gradient_ready(std::size_t layer) {
  layers_.give(layer);
  if (may_leave_early()) contribute_ready(pass::first);
}

/// Whether a part can leave before all gradients are there.
SYNCOPATE_FUNCTION bool engine::may_leave_early() const {
  return !traits_.ranks_differ && !clips(clipping::before_averaging) && samples_ > 0;
}

SYNCOPATE_FUNCTION void engine::contribute_ready(pass which) {
  for (; contributed_ < flow_.parts().size() && layers_.is_ready(contributed_); ++contributed_) {
    flow_.receive(contributed_, model_.tensors());  // what was due before is in the weights first
    flow_.contribute(flow_.parts()[contributed_], which, gradients_);
  }
}

SYNCOPATE_FUNCTION void engine::end_step() {
  if (samples_ > 0) supply_missing_gradients();
  layers_.give_all();
  receive_all();
  inspect_gradients();
  bool snapshots = false;
  if (traits_.ranks_differ && !traits_.snapshot_first)
    for (const auto& of : flow_.fragments())
      if (of->next.launches() && flow_.any_due(*of, clock_)) {
        of->next.take_snapshot_last();
        snapshots = true;
      }
  contribute_ready(pass::first);
  if (snapshots) {
    expect_forward();
    receive_all();
    contributed_ = 0;
    contribute_ready(pass::second);
  }
  for (const auto& of : flow_.fragments()) {
    if (of->next.launches()) {
      of->messages.close();
      if (call_ == calls::step) ++measured_.taken.launched;
    }
    of->next.end(!traits_.ranks_differ);
  }
  if (call_ == calls::step) ++measured_.taken.steps;
  expect_forward();
  state_.end_step();
  ++clock_;
}

/// What has to be known of this rank's gradients before anything is made of them.
SYNCOPATE_FUNCTION void engine::inspect_gradients() {
  if (samples_ == 0) return;
  const bool checks = options_.non_finite_gradients != non_finite::ignore;
  if (traits_.ranks_differ && checks && !own_gradients::all_finite(model_.tensors())) {
    ++measured_.taken.skipped;
    for (const auto& of : flow_.fragments())
      of->next.leave_out_move(options_.non_finite_gradients == non_finite::refuse);
  }
  if (clips(clipping::before_averaging)) gradients_ = own_.bounded(model_.tensors(), options_.largest_norm);
}

SYNCOPATE_FUNCTION void engine::expect_forward() {
  flow_.expect(clock_);
  layers_.expect_forward();
}

SYNCOPATE_FUNCTION void engine::before_forward(std::size_t layer) {
  state_.require_running("before_forward");
  const auto& wanted = layers_.at(layer, "before_forward");
  if (wanted.current) return;
  for (const std::size_t number : wanted.buckets) flow_.receive(number, model_.tensors());
  layers_.make_current(layer);
  throw_refused();
  send_back();
}

SYNCOPATE_FUNCTION void engine::receive_all() {
  flow_.receive_all(model_.tensors());
  layers_.make_all_current();
}

SYNCOPATE_FUNCTION void engine::throw_refused() {
  if (!flow_.has_refused()) return;
  receive_all();
  flow_.throw_refused();
}

SYNCOPATE_FUNCTION void engine::poll() {
  flow_.poll();
  if (traits_.sharded && state_.is(scheme_state::phase::running)) guarded([&] { send_back(); });
}

SYNCOPATE_FUNCTION void engine::fail(std::string_view why) noexcept {
  if (state_.is(scheme_state::phase::running)) state_.becomes(scheme_state::phase::failed);
  wire_->fail(why);
}

#endif

}  // namespace syncopate::detail

#include "engine_start.hpp"
#include "engine_state.hpp"
