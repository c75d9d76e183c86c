#pragma once

#include "../../version.hpp"
#include "consensus.hpp"
#include "engine.hpp"
#include "kept.hpp"

/// What an engine does between steps, and after the last one: with all ranks' weights, and with what it keeps.
namespace syncopate::detail {

#if SYNCOPATE_BODIES

SYNCOPATE_FUNCTION void engine::supply_missing_gradients() {
  layers_.check_complete();
  for (std::size_t number = 0; number < layers_.size(); ++number) {
    const auto& layer = layers_.all()[number];
    if (layer.given) continue;
    for (std::size_t tensor = layer.first; tensor < layer.first + layer.tensors; ++tensor)
      model_.bind_own(zeros_.data(), tensor);
    factored_.give_none(number);
  }
}

SYNCOPATE_FUNCTION void engine::prepare_join() {
  require_between_running_steps("join");
  receive_all();
  validate();
}

SYNCOPATE_FUNCTION void engine::prepare_to_resynchronise() {
  if (state_.is(scheme_state::phase::failed)) return;
  require_between_running_steps("resynchronise");
  receive_all();
}

SYNCOPATE_FUNCTION void engine::require_open_step(const char* call) const {
  state_.require_running(call);
  state_.require_open_step(call);
}

SYNCOPATE_FUNCTION void engine::require_between_running_steps(const char* call) const {
  state_.require_running(call);
  state_.require_no_open_step(call);
}

SYNCOPATE_FUNCTION void engine::require_unfinished() const {
  if (state_.is(scheme_state::phase::finished)) throw usage_error("syncopate: finish was called twice");
}

SYNCOPATE_FUNCTION void engine::require_unused(const char* call) const {
  state_.require_running(call);
  if (clock_ > 0) throw usage_error("syncopate: load was called after a step: make a new scheme to load into");
}

SYNCOPATE_FUNCTION void engine::require_not_failed(const char* call) const {
  if (state_.is(scheme_state::phase::failed)) state_.require_running(call);
}

SYNCOPATE_FUNCTION void engine::finish() {
  state_.becomes(scheme_state::phase::finished);
  if (traits_.ranks_differ) agree_on_weights();
}

SYNCOPATE_FUNCTION void engine::join() {
  constexpr std::int64_t most = 1 << 20;
  for (std::int64_t launched = clock_; !tick_of_join();) {
    for (const auto& of : flow_.fragments())
      if (of->next.launches()) launched = clock_;
    if (clock_ - launched > most)
      throw usage_error("syncopate: ranks cannot join, since the delay policy launches no message in " +
                        std::to_string(most) + " steps");
  }
}

/// A step of a rank that has nothing left to do. Whether no rank has.
SYNCOPATE_FUNCTION bool engine::tick_of_join() {
  begin(calls::join, 0, true);
  end_step();
  bool over = false;
  for (const auto& of : flow_.fragments())
    if (of->next.launches()) over = flow_.all_have_joined(*of) || over;
  if (over) flow_.expect_all();
  receive_all();
  throw_refused();
  return over;
}

SYNCOPATE_FUNCTION void engine::agree_on_weights() {
  for (const part& p : flow_.parts()) {
    if (traits_.ranks_differ)
      take_mean_of_ranks(*wire_, clock_, p.way->layout(), p.element_bytes, model_.tensors());
    else if (traits_.predicts_ahead)
      copy_kept_weights(p.kept->weights(), p.way->layout(), model_.tensors());
    else
      copy_read_weights(p.way->layout(), model_.tensors());
  }
}

SYNCOPATE_FUNCTION std::uint64_t engine::checksum() {
  kept_checksum sum(clock_);
  if (!traits_.ranks_differ && !traits_.predicts_ahead) sum.add_read_weights(model_.tensors());
  for (const part& p : flow_.parts()) p.kept->serialise(sum);
  const auto sums = gather_one(*wire_, sum.value());
  for (const std::uint64_t other : sums)
    if (other != sum.value())
      throw communication_error("syncopate: ranks have drifted apart: " + by_rank(wire_->size(), [&](int rank) {
                                  return "checksum " + std::to_string(sums[static_cast<std::size_t>(rank)]);
                                }));
  return sum.value();
}

SYNCOPATE_FUNCTION void engine::resynchronise() {
  for (const tensor_ref& tensor : model_.tensors())
    wire_->broadcast({static_cast<std::byte*>(tensor.weights), tensor.size * tensor.element_bytes}, 0);
  kept_broadcast share(*wire_, traits_.ranks_differ);
  for (const part& p : flow_.parts()) {
    p.kept->serialise(share);
    if (traits_.sharded) p.kept->start(model_.tensors());
  }
  state_.becomes(scheme_state::phase::running);
}

SYNCOPATE_FUNCTION checkpoint_facts engine::facts_of_checkpoint() const {
  std::uint64_t layout = hash_of("");
  for (const tensor_facts& tensor : model_.facts()) layout = hash_of(tensor.text(), layout);
  return {version,
          facts_.scheme,
          static_cast<std::int64_t>(facts_.tensors),
          layout,
          facts_.most_in_flight,
          facts_.schedule,
          options_.bucket_bytes,
          wire_->size(),
          wire_->rank()};
}

SYNCOPATE_FUNCTION void engine::show_state(state_visitor& visitor) {
  syncopate::statistics& taken = measured_.taken;
  for (std::int64_t* const number : {&clock_, &taken.steps, &taken.launched, &taken.absorbed, &taken.skipped}) {
    visitor.number(*number);
    if (*number < 0 || *number > std::int64_t{1} << 53)
      throw checkpoint_error("syncopate: the checkpoint is damaged: its numbers of steps make no sense");
  }
  flow_.serialise(visitor, clock_);
}

SYNCOPATE_FUNCTION void engine::save(state_visitor& writer) {
  flow_.land();
  facts_of_checkpoint().serialise(writer);
  show_state(writer);
  for (const tensor_ref& tensor : model_.tensors())
    with_element_of(tensor.element_bytes, [&]<class T>(T) {
      writer.vector(role::weights, true, std::span(const_cast<T*>(tensor.gradient_as<T>()), tensor.size));
    });
}

SYNCOPATE_FUNCTION void engine::load(state_visitor& reader) {
  std::string fault;
  try {
    facts_of_checkpoint().serialise(reader);
    show_state(reader);
    for (const tensor_ref& tensor : model_.tensors())
      with_element_of(tensor.element_bytes, [&]<class T>(T) {
        reader.vector(role::weights, true, std::span(tensor.weights_as<T>(), tensor.size));
      });
  } catch (const error& refusal) {
    fault = refusal.what();
  } catch (const std::exception& failure) {  // the archive's own
    fault = std::string("syncopate: the checkpoint cannot be read: ") + failure.what();
  }
  try {
    agree_on_fault<checkpoint_error>(*wire_, fault);
    const auto clocks = gather_one(*wire_, clock_);
    for (const std::int64_t other : clocks)
      if (other != clock_)
        throw checkpoint_error("syncopate: ranks' checkpoints are of different steps: " +
                               by_rank(wire_->size(), [&](int rank) {
                                 return "step " + std::to_string(clocks[static_cast<std::size_t>(rank)]);
                               }));
  } catch (const checkpoint_error&) {
    state_.becomes(scheme_state::phase::failed);
    throw;
  }
}

SYNCOPATE_FUNCTION void engine::show_parts(state_visitor& visitor) {
  for (const part& p : flow_.parts()) {
    p.way->serialise(visitor);
    p.kept->serialise(visitor);
  }
}

SYNCOPATE_FUNCTION syncopate::statistics engine::statistics() const {
  syncopate::statistics taken = measured_.taken;
  for (const part& p : flow_.parts()) taken.buckets.push_back(p.way->taken());
  taken.transport = wire_->cost();
  return taken;
}

#endif

}  // namespace syncopate::detail
