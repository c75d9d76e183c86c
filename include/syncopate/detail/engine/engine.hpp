#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <string_view>

#include "../../factor_exchange.hpp"
#include "../../scheme_options.hpp"
#include "../../statistics.hpp"
#include "../../training_signal.hpp"
#include "../bodies.hpp"
#include "../elements/state_visitor.hpp"
#include "../exchange/wire.hpp"
#include "binding.hpp"
#include "policies.hpp"
#include "schedule.hpp"

namespace syncopate::detail {

enum class calls;  // exchange/header.hpp
enum class pass;   // outbox.hpp

/// Keeps time: what of a step happens when, the same on all ranks. A step is
///
///     prepare, bind weights, begin_step
///     for each layer: bind its gradient, gradient_ready
///     end_step
///     for each layer: before_forward
///
/// in which gradients are contributed as soon as they are there, and means are received when weights are needed; `step`
/// is the same in one go. Is no template and knows of no type of the user's; what calls mean, and what they throw, the
/// façade says: `update_scheme`, `scheme_base`. Bodies: engine_start.hpp, engine_step.hpp, engine_state.hpp.
class engine {
 public:
  engine(std::unique_ptr<wire> on, std::unique_ptr<schedules> when, std::unique_ptr<policies> averaging,
         const scheme_options& options);
  ~engine();
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
  /// Throws `configuration_error` where options, policies or delays make no sense, alone or together.
  void validate() const;
  /// The next layer has so many of the tensors that were described.
  void add_layer(std::size_t tensors);
  /// All layers are there: works out what ranks have to agree on.
  void lay_out();
  /// Collective. Ranks agree, take over rank 0's weights, and make room for everything. `scheme`: a hash of the types.
  void start(std::uint64_t scheme);
  /// Whether `start` has succeeded, so that other ranks may depend on this one.
  bool has_started() const;

  /// Notes what goes wrong in `work`.
  template <class Work>
  void guarded(Work work) {
    try {
      work();
    } catch (const std::exception& error) {
      note_failure(error);
      throw;
    }
  }
  /// The text of the newest error.
  const std::string& failure() const;

  /// What has to hold for a call, by name. Each throws `usage_error`.
  void require_open_step(const char* call) const;
  void require_between_steps(const char* call) const;
  void require_between_running_steps(const char* call) const;
  void require_unfinished() const;
  void require_unused(const char* call) const;
  void require_not_failed(const char* call) const;

  /// A step of a training loop, whole or layer by layer. First `prepare`, or for a layer `expect_layer`, tells whether
  /// it may be made; then tensors are bound.
  void prepare(const char* call, double samples);
  /// Throws `usage_error` where the gradient of some layer, or of the one given, has to be handed in as factors.
  void require_gradients(const char* call) const;
  void step(double samples);
  void begin_step(double samples);
  /// The tensors of a layer whose gradient comes next. Throws `usage_error`.
  part_of_model expect_layer(const char* call, std::size_t layer) const;
  void require_gradient(std::size_t layer, const char* call) const;
  void give_factors(std::size_t layer, const tensor_ref& activations, const tensor_ref& errors);
  void gradient_ready(std::size_t layer);
  void end_step();
  void before_forward(std::size_t layer);
  /// Absorbs all that is due, in all layers.
  void receive_all();
  /// Throws `non_finite_error` where a mean was refused, once all layers have received what is due.
  void throw_refused();
  /// Goes on with the second leg, where ranks share the work, as far as there is nothing to wait for. Not in `step`,
  /// nor in `join`, where more may become due than had been when some of the weights left.
  void send_back();
  void poll();
  void fail(std::string_view why) noexcept;
  void note_loss(double loss);

  /// For a rank that has run out: `join` makes steps without samples until all ranks have.
  void prepare_join();
  void join();
  /// Ends training, after `join`. What is bound as gradients are weights to be read.
  void finish();

  /// Collective, between two steps. What is bound as gradients are weights to be read.
  void agree_on_weights();
  std::uint64_t checksum();
  void prepare_to_resynchronise();
  void resynchronise();
  void save(state_visitor& writer);
  void load(state_visitor& reader);

  binding& model();
  wire& ranks();
  const training_signal& signal() const;
  const factor_choice& exchange_of(std::size_t layer) const;
  syncopate::statistics statistics() const;
  /// Walks through what is kept for the parts of the model.
  void show_parts(state_visitor& visitor) const;

 private:
  /// Keeps what is wrong with this rank's arguments, to be told by `start`.
  void note_fault(const std::exception& fault);
  /// Keeps the text of an error; the scheme has failed, if it is a `communication_error`.
  void note_failure(const std::exception& error);
  void make_parts();
  /// Opens a step. `waits`: the caller does nothing before it has received what is due, so that a message that is due
  /// at the step at which it leaves may be one blocking sum.
  void begin(calls call, double samples, bool waits);
  /// What has to be known of this rank's gradients before anything is made of them.
  void inspect_gradients();
  /// Whether some mean is merged at the step at which a snapshot is taken. The snapshot is to contain it, and is told
  /// to wait for it.
  bool merges_before_snapshots();
  /// Contributes those parts whose gradients are all there, as far as they are next in the order of departure.
  void contribute_ready(pass which);
  /// Means that are due are to be absorbed from now on, and all layers' weights count as out of date.
  void expect_forward();
  /// Zeros for layers that may be without a gradient and are. Throws `usage_error` for others.
  void supply_missing_gradients();
  /// A step of a rank that has nothing left to do. Whether no rank has.
  bool tick_of_join();
  /// What a checkpoint has to have in common with this scheme.
  void show_facts(state_visitor& visitor) const;
  /// What a checkpoint holds, but for the facts and the user's weights.
  void show_state(state_visitor& visitor);

  struct rooms;
  std::unique_ptr<rooms> in_;
};

}  // namespace syncopate::detail
