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

enum class calls;
enum class pass;

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
  void validate() const;
  void add_layer(std::size_t tensors);
  void lay_out();
  void start(std::uint64_t scheme);
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
  const std::string& failure() const;

  /// What has to hold for a call. Each throws `usage_error`.
  void require_open_step(const char* call) const;
  void require_between_steps(const char* call) const;
  void require_between_running_steps(const char* call) const;
  void require_unfinished() const;
  void require_unused(const char* call) const;
  void require_not_failed(const char* call) const;

  /// A step of a training loop, whole or layer by layer. Before `prepare`, or `expect_layer`, nothing is bound.
  void prepare(const char* call, double samples);
  void require_gradients(const char* call) const;
  void step(double samples);
  void begin_step(double samples);
  part_of_model expect_layer(const char* call, std::size_t layer) const;
  void require_gradient(std::size_t layer, const char* call) const;
  void give_factors(std::size_t layer, const tensor_ref& activations, const tensor_ref& errors);
  void gradient_ready(std::size_t layer);
  void end_step();
  void before_forward(std::size_t layer);
  void receive_all();
  void throw_refused();
  /// Goes on with weights that travel back as far as there is nothing to wait for. Not in `step`, nor in `join`, where
  /// more may become due than had been when some of them left.
  void send_back();
  void poll();
  void fail(std::string_view why) noexcept;
  void note_loss(double loss);

  void prepare_join();
  void join();
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
  /// All that is kept for the parts of the model.
  void show_parts(state_visitor& visitor) const;

 private:
  void note_fault(const std::exception& fault);
  void note_failure(const std::exception& error);
  void make_parts();
  void begin(calls call, double samples, bool waits);
  void inspect_gradients();
  bool merges_before_snapshots();
  void contribute_ready(pass which);
  void expect_forward();
  void supply_missing_gradients();
  bool tick_of_join();
  void show_facts(state_visitor& visitor) const;
  void show_state(state_visitor& visitor);

  struct rooms;
  std::unique_ptr<rooms> in_;
};

}  // namespace syncopate::detail

#if SYNCOPATE_BODIES
#include "engine_start.hpp"
#include "engine_state.hpp"
#include "engine_step.hpp"
#endif
