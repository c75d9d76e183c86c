#pragma once

#include "../../version.hpp"
#include "checkpoint_facts.hpp"
#include "consensus.hpp"
#include "engine.hpp"
#include "kept.hpp"
#include "pipeline_state.hpp"
#include "rooms.hpp"

/// What an engine does between steps, and after the last one: with all ranks' weights, and with what it keeps.
namespace syncopate::detail {

#if SYNCOPATE_BODIES

SYNCOPATE_FUNCTION void engine::note_failure(const std::exception& error) {
  in_->state.fail(error.what(), dynamic_cast<const communication_error*>(&error) != nullptr);
}

SYNCOPATE_FUNCTION const std::string& engine::failure() const { return in_->state.failure(); }

SYNCOPATE_FUNCTION void engine::fail(std::string_view why) noexcept {
  if (in_->state.is(scheme_state::phase::running)) in_->state.becomes(scheme_state::phase::failed);
  in_->wire->fail(why);
}

SYNCOPATE_FUNCTION binding& engine::model() { return in_->model; }
SYNCOPATE_FUNCTION wire& engine::ranks() { return *in_->wire; }
SYNCOPATE_FUNCTION const training_signal& engine::signal() const { return in_->flow.signal(); }
SYNCOPATE_FUNCTION const factor_choice& engine::exchange_of(std::size_t layer) const {
  return in_->factored.at(layer, "").choice;
}

SYNCOPATE_FUNCTION void engine::prepare_join() {
  require_between_running_steps("join");
  receive_all();
  validate();
}

SYNCOPATE_FUNCTION void engine::prepare_to_resynchronise() {
  if (in_->state.is(scheme_state::phase::failed)) return;
  require_between_running_steps("resynchronise");
  receive_all();
}

SYNCOPATE_FUNCTION void engine::require_open_step(const char* call) const {
  in_->state.require_running(call);
  in_->state.require_open_step(call);
}

SYNCOPATE_FUNCTION void engine::require_between_steps(const char* call) const {
  in_->state.require_between_steps(call);
}

SYNCOPATE_FUNCTION void engine::require_between_running_steps(const char* call) const {
  in_->state.require_running(call);
  in_->state.require_no_open_step(call);
}

SYNCOPATE_FUNCTION void engine::require_unfinished() const {
  if (in_->state.is(scheme_state::phase::finished)) throw usage_error("syncopate: finish was called twice");
}

SYNCOPATE_FUNCTION void engine::require_unused(const char* call) const {
  in_->state.require_running(call);
  if (in_->clock > 0) throw usage_error("syncopate: load was called after a step: make a new scheme to load into");
}

SYNCOPATE_FUNCTION void engine::require_not_failed(const char* call) const {
  if (in_->state.is(scheme_state::phase::failed)) in_->state.require_running(call);
}

SYNCOPATE_FUNCTION void engine::finish() {
  in_->state.becomes(scheme_state::phase::finished);
  if (in_->traits.ranks_differ) agree_on_weights();
}

SYNCOPATE_FUNCTION void engine::join() {
  constexpr std::int64_t most = 1 << 20;
  for (std::int64_t launched = in_->clock; !tick_of_join();) {
    for (const auto& of : in_->flow.fragments())
      if (of->next.launches()) launched = in_->clock;
    if (in_->clock - launched > most)
      throw usage_error("syncopate: ranks cannot join, since the delay policy launches no message in " +
                        std::to_string(most) + " steps");
  }
}

SYNCOPATE_FUNCTION bool engine::tick_of_join() {
  begin(calls::join, 0, true);
  end_step();
  bool over = false;
  for (const auto& of : in_->flow.fragments())
    if (of->next.launches()) over = in_->flow.all_have_joined(*of) || over;
  if (over) in_->flow.expect_all();
  receive_all();
  throw_refused();
  return over;
}

SYNCOPATE_FUNCTION void engine::agree_on_weights() {
  for (const part& p : in_->flow.parts()) {
    if (in_->traits.ranks_differ)
      take_mean_of_ranks(*in_->wire, in_->clock, p.way->layout(), p.element_bytes, in_->model.tensors());
    else if (in_->traits.predicts_ahead)
      copy_kept_weights(p.kept->weights(), p.way->layout(), in_->model.tensors());
    else
      copy_read_weights(p.way->layout(), in_->model.tensors());
  }
}

SYNCOPATE_FUNCTION std::uint64_t engine::checksum() {
  kept_checksum sum(in_->clock);
  if (!in_->traits.ranks_differ && !in_->traits.predicts_ahead) sum.add_read_weights(in_->model.tensors());
  for (const part& p : in_->flow.parts()) p.kept->serialise(sum);
  const auto sums = gather_one(*in_->wire, sum.value());
  for (const std::uint64_t other : sums)
    if (other != sum.value())
      throw communication_error("syncopate: ranks have drifted apart: " + by_rank(in_->wire->size(), [&](int rank) {
                                  return "checksum " + std::to_string(sums[static_cast<std::size_t>(rank)]);
                                }));
  return sum.value();
}

SYNCOPATE_FUNCTION void engine::resynchronise() {
  for (const tensor_ref& tensor : in_->model.tensors())
    in_->wire->broadcast({static_cast<std::byte*>(tensor.weights), tensor.size * tensor.element_bytes}, 0);
  kept_broadcast share(*in_->wire, in_->traits.ranks_differ);
  for (const part& p : in_->flow.parts()) {
    p.kept->serialise(share);
    if (in_->traits.sharded) p.kept->take_weights(in_->model.tensors());
  }
  in_->state.becomes(scheme_state::phase::running);
}

SYNCOPATE_FUNCTION void engine::show_facts(state_visitor& visitor) const {
  std::uint64_t layout = hash_of("");
  for (const tensor_facts& tensor : in_->model.facts()) layout = hash_of(tensor.text(), layout);
  const checkpoint_facts facts{version,
                               in_->facts.scheme,
                               static_cast<std::int64_t>(in_->facts.tensors),
                               layout,
                               in_->facts.most_in_flight,
                               in_->facts.schedule,
                               in_->options.bucket_bytes,
                               in_->wire->size(),
                               in_->wire->rank()};
  facts.serialise(visitor);
}

SYNCOPATE_FUNCTION void engine::show_state(state_visitor& visitor) {
  syncopate::statistics& taken = in_->measured.taken;
  for (std::int64_t* const number : {&in_->clock, &taken.steps, &taken.launched, &taken.absorbed, &taken.skipped}) {
    visitor.number(*number);
    if (*number < 0 || *number > std::int64_t{1} << 53)
      throw checkpoint_error("syncopate: the checkpoint is damaged: its numbers of steps make no sense");
  }
  in_->flow.serialise(visitor, in_->clock);
}

SYNCOPATE_FUNCTION void engine::save(state_visitor& writer) {
  in_->flow.land();
  show_facts(writer);
  show_state(writer);
  for (const tensor_ref& tensor : in_->model.tensors())
    with_element_of(tensor.element_bytes, [&]<class T>(T) {
      writer.vector(role::weights, true, std::span(const_cast<T*>(tensor.gradient_as<T>()), tensor.size));
    });
}

SYNCOPATE_FUNCTION void engine::load(state_visitor& reader) {
  std::string fault;
  try {
    show_facts(reader);
    show_state(reader);
    for (const tensor_ref& tensor : in_->model.tensors())
      with_element_of(tensor.element_bytes, [&]<class T>(T) {
        reader.vector(role::weights, true, std::span(tensor.weights_as<T>(), tensor.size));
      });
  } catch (const error& refusal) {
    fault = refusal.what();
  } catch (const std::exception& failure) {  // the archive's own
    fault = std::string("syncopate: the checkpoint cannot be read: ") + failure.what();
  }
  try {
    agree_on_fault<checkpoint_error>(*in_->wire, fault);
    const auto clocks = gather_one(*in_->wire, in_->clock);
    for (const std::int64_t other : clocks)
      if (other != in_->clock)
        throw checkpoint_error("syncopate: ranks' checkpoints are of different steps: " +
                               by_rank(in_->wire->size(), [&](int rank) {
                                 return "step " + std::to_string(clocks[static_cast<std::size_t>(rank)]);
                               }));
  } catch (const checkpoint_error&) {
    in_->state.becomes(scheme_state::phase::failed);
    throw;
  }
}

SYNCOPATE_FUNCTION void engine::show_parts(state_visitor& visitor) const {
  for (const part& p : in_->flow.parts()) {
    p.way->serialise(visitor);
    p.kept->serialise(visitor);
  }
}

SYNCOPATE_FUNCTION syncopate::statistics engine::statistics() const {
  syncopate::statistics taken = in_->measured.taken;
  for (const part& p : in_->flow.parts()) taken.buckets.push_back(p.way->taken());
  taken.transport = in_->wire->cost();
  return taken;
}

#endif

}  // namespace syncopate::detail
