#pragma once

#include <cmath>
#include <string>

#include "engine.hpp"
#include "rooms.hpp"

/// A step, from the first call to the last.
namespace syncopate::detail {

#if SYNCOPATE_BODIES

SYNCOPATE_FUNCTION void engine::prepare(const char* call, double samples) {
  in_->state.require_running(call);
  in_->state.require_no_open_step(call);
  if (!(samples >= 0) || !std::isfinite(samples))
    throw usage_error("syncopate: samples must be a finite number of at least 0, but is " + std::to_string(samples));
  validate();
}

SYNCOPATE_FUNCTION void engine::step(double samples) {
  begin(calls::step, samples, true);
  in_->layers.give_all();
  end_step();
  receive_all();
  throw_refused();
}

SYNCOPATE_FUNCTION void engine::begin_step(double samples) {
  if (in_->when->adapts()) {  // what has arrived decides what is to leave
    receive_all();
    throw_refused();
  }
  begin(calls::step, samples, false);
  in_->state.begin_step();
}

SYNCOPATE_FUNCTION void engine::begin(calls call, double samples, bool waits) {
  const bool checks = in_->options.non_finite_gradients != non_finite::ignore;
  const std::uint64_t values = in_->averaging->hyperparameters();
  for (const auto& of : in_->flow.fragments()) {
    const bool launches = of->when.launches(in_->clock);
    if (launches) of->messages.open(in_->clock, call);
    of->next.begin({in_->clock, call, samples, in_->loss, launches, waits && of->when.due(in_->clock, in_->clock),
                    checks && (launches || in_->traits.ranks_differ), in_->observes(), values});
  }
  in_->loss = 0;
  in_->call = call;
  in_->samples = samples;
  in_->gradients = in_->model.tensors();
  in_->contributed = 0;
  in_->layers.expect_gradients();
}

SYNCOPATE_FUNCTION part_of_model engine::expect_layer(const char* call, std::size_t layer) const {
  require_open_step(call);
  in_->layers.check(layer);
  const auto& wanted = in_->layers.all()[layer];
  return {"gradients", wanted.first, wanted.tensors, layer};
}

SYNCOPATE_FUNCTION void engine::require_gradients(const char* call) const { in_->factored.require_gradients(call); }
SYNCOPATE_FUNCTION void engine::require_gradient(std::size_t layer, const char* call) const {
  in_->factored.require_gradient(layer, call);
}
SYNCOPATE_FUNCTION void engine::give_factors(std::size_t layer, const tensor_ref& activations,
                                             const tensor_ref& errors) {
  in_->factored.give(layer, activations, errors, in_->model);
}

SYNCOPATE_FUNCTION void engine::gradient_ready(std::size_t layer) {
  in_->layers.give(layer);
  if (in_->may_leave_early()) contribute_ready(pass::first);
}

SYNCOPATE_FUNCTION void engine::contribute_ready(pass which) {
  for (; in_->contributed < in_->flow.parts().size() && in_->layers.is_ready(in_->contributed); ++in_->contributed) {
    in_->flow.receive(in_->contributed, in_->model.tensors());  // what was due before is in the weights first
    in_->flow.contribute(in_->flow.parts()[in_->contributed], which, in_->gradients);
  }
}

SYNCOPATE_FUNCTION void engine::end_step() {
  if (!in_->layers.all_given()) {
    if (in_->samples > 0) supply_missing_gradients();
    in_->layers.give_all();
  }
  receive_all();
  inspect_gradients();
  const bool snapshots_come_last = merges_before_snapshots();
  contribute_ready(pass::first);
  if (snapshots_come_last) {
    expect_forward();
    receive_all();
    in_->contributed = 0;
    contribute_ready(pass::second);
  }
  for (const auto& of : in_->flow.fragments()) {
    if (of->next.launches()) {
      of->messages.close();
      if (in_->call == calls::step) ++in_->measured.taken.launched;
    }
    of->next.end(!in_->traits.ranks_differ);
  }
  if (in_->call == calls::step) ++in_->measured.taken.steps;
  expect_forward();
  in_->state.end_step();
  ++in_->clock;
}

SYNCOPATE_FUNCTION void engine::supply_missing_gradients() {
  in_->layers.check_complete();
  for (std::size_t number = 0; number < in_->layers.size(); ++number) {
    const auto& layer = in_->layers.all()[number];
    if (layer.given) continue;
    for (std::size_t tensor = layer.first; tensor < layer.first + layer.tensors; ++tensor)
      in_->model.bind_own(in_->zeros.data(), tensor);
    in_->factored.give_none(number);
  }
}

SYNCOPATE_FUNCTION bool engine::merges_before_snapshots() {
  bool any = false;
  if (in_->traits.ranks_differ && !in_->traits.snapshot_first)
    for (const auto& of : in_->flow.fragments())
      if (of->next.launches() && in_->flow.any_due(*of, in_->clock)) {
        of->next.take_snapshot_last();
        any = true;
      }
  return any;
}

SYNCOPATE_FUNCTION void engine::inspect_gradients() {
  if (in_->samples == 0) return;
  const bool checks = in_->options.non_finite_gradients != non_finite::ignore;
  if (in_->traits.ranks_differ && checks && !own_gradients::all_finite(in_->model.tensors())) {
    ++in_->measured.taken.skipped;
    for (const auto& of : in_->flow.fragments())
      of->next.leave_out_move(in_->options.non_finite_gradients == non_finite::refuse);
  }
  if (in_->clips(clipping::before_averaging))
    in_->gradients = in_->own.bounded(in_->model.tensors(), in_->options.largest_norm);
}

SYNCOPATE_FUNCTION void engine::expect_forward() {
  in_->flow.expect(in_->clock);
  in_->layers.expect_forward();
}

SYNCOPATE_FUNCTION void engine::before_forward(std::size_t layer) {
  in_->state.require_running("before_forward");
  const auto& wanted = in_->layers.at(layer, "before_forward");
  if (wanted.current) return;
  for (const std::size_t number : wanted.buckets) in_->flow.receive(number, in_->model.tensors());
  in_->layers.make_current(layer);
  throw_refused();
  send_back();
}

SYNCOPATE_FUNCTION void engine::receive_all() {
  in_->flow.receive_all(in_->model.tensors());
  in_->layers.make_all_current();
}

SYNCOPATE_FUNCTION void engine::throw_refused() {
  if (!in_->flow.has_refused()) return;
  receive_all();
  in_->flow.throw_refused();
}

SYNCOPATE_FUNCTION void engine::send_back() { in_->flow.send_back(in_->model.tensors()); }

SYNCOPATE_FUNCTION void engine::poll() {
  in_->flow.poll();
  if (in_->traits.sharded && in_->state.is(scheme_state::phase::running)) guarded([&] { send_back(); });
}

SYNCOPATE_FUNCTION void engine::note_loss(double loss) { in_->loss = loss; }

#endif

}  // namespace syncopate::detail
