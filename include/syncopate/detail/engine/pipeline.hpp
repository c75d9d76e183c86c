#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "../../error.hpp"
#include "../../scheme_options.hpp"
#include "../../training_signal.hpp"
#include "../bodies.hpp"
#include "../exchange/wire.hpp"
#include "../sentence.hpp"
#include "agreement.hpp"
#include "fragment.hpp"
#include "policies.hpp"
#include "second_leg.hpp"
#include "verdict.hpp"

namespace syncopate::detail {

/// All parts of a model with what is in flight of them: sends and receives them in one order, the same on all ranks,
/// whenever they are wanted.
class pipeline {
 public:
  pipeline(wire& on, policies& averaging, const scheme_options& options, measurement& measured)
      : wire_(on), policies_(averaging), traits_(averaging.traits()), options_(options), measured_(measured) {}

  /// At construction: fragments, then parts in the order in which they leave.
  fragment& add_fragment(schedule& by);
  void reserve(std::size_t parts) { parts_.reserve(parts); }
  part& add_part(fragment& to, std::size_t element_bytes, const cargo& what);

  std::vector<part>& parts() { return parts_; }
  const std::vector<part>& parts() const { return parts_; }
  const std::vector<std::unique_ptr<fragment>>& fragments() const { return fragments_; }
  const training_signal& signal() const { return signal_; }

  /// Writes what this rank contributes to the next message of a part, and sends it, if the outbox says so.
  void contribute(part& p, pass which, std::span<const tensor_ref> tensors);
  /// What has left until now, and is due at a step, is to be absorbed from now on, by the hyper-parameters as they are.
  void expect(std::int64_t step);
  /// All that has left is due.
  void expect_all();
  /// Absorbs what is due of a part, and leaves the result in the user's tensors; where ranks share the work, of the
  /// parts that come before it in the second leg, too. The last part to be received tells what is known of the mean.
  void receive(std::size_t number, std::span<const tensor_ref> tensors);
  void receive_all(std::span<const tensor_ref> tensors);
  /// Gives what is in flight a chance to progress; never waits.
  void poll();
  /// Waits for what is in flight, and leaves it there.
  void land();
  /// Goes on with the second leg as far as there is nothing to wait for.
  void send_back(std::span<const tensor_ref> tensors);

  /// Whether a mean of a fragment becomes due at a step.
  bool any_due(const fragment& of, std::int64_t step) const;
  /// Whether all ranks have sent the newest message of a fragment from `join`. Waits for it.
  bool all_have_joined(fragment& of);
  /// Whether a mean was not absorbed that has to be told of; and throws that. Precondition: all was received.
  bool has_refused() const { return refused_.has_value(); }
  void throw_refused();

  /// All that is kept of messages and for parts; `clock` is the number of the next step. Throws `checkpoint_error`.
  void serialise(state_visitor& visitor, std::int64_t clock);

 private:
  struct refusal {
    fragment* of;
    std::int64_t message;
  };

  /// All parts are to receive what is due now.
  void begin_to_receive();
  /// Absorbs all that is due of a part.
  void absorb_due(part& p, std::span<const tensor_ref> tensors);
  /// Absorbs the next message of a part.
  void absorb(part& p, std::span<const tensor_ref> tensors);
  /// Waits for weights that come back, where ranks share the work.
  void receive_weights(part& p, std::span<const tensor_ref> tensors);
  /// Waits for a sum, and returns what all ranks said with it.
  const agreed_headers& receive_sum(part& p, std::int64_t message);
  /// Whether all ranks sent the same, and a gradient, and how large it is. The part that left last says all but the
  /// last: it left when everything was known.
  const verdict& verdict_of(fragment& of, std::int64_t message);
  /// Once all parts of a fragment have received: tells what is known of its newest mean.
  void tell_signal(fragment& of);
  /// Does what sends or receives a message; a stall is told with the message's step and bucket.
  template <class Work>
  decltype(auto) naming(std::int64_t step, const part& p, Work work) const;

  wire& wire_;
  policies& policies_;
  averaging_traits traits_;
  const scheme_options& options_;
  measurement& measured_;
  std::vector<std::unique_ptr<fragment>> fragments_;
  std::vector<part> parts_;  ///< in the order in which they leave
  second_leg second_leg_;
  std::int64_t expected_ =
      0;                    ///< how often something was to be received: a part that has done so knows the same number
  std::size_t behind_ = 0;  ///< parts that have not
  std::int64_t step_ = 0;   ///< at which what is absorbed was due
  std::optional<refusal> refused_;  ///< the first message that was not absorbed and has to be told of, if any
  training_signal signal_;
};

#if SYNCOPATE_BODIES

SYNCOPATE_FUNCTION fragment& pipeline::add_fragment(schedule& by) {
  return *fragments_.emplace_back(std::make_unique<fragment>(by, static_cast<std::size_t>(by.most_in_flight()) + 1));
}

SYNCOPATE_FUNCTION part& pipeline::add_part(fragment& to, std::size_t element_bytes, const cargo& what) {
  to.parts.push_back(parts_.size());
  auto way = policies_.make_exchange(element_bytes, what, wire_, measured_);
  auto kept = policies_.make_bucket(element_bytes, way->layout(), what.slots);
  return parts_.emplace_back(part{parts_.size(), element_bytes, to, std::move(way), std::move(kept)});
}

template <class Work>
decltype(auto) pipeline::naming(std::int64_t step, const part& p, Work work) const {
  try {
    return work();
  } catch (const stalled& stall) {
    throw stalled("syncopate: the message of " + text_of_message(step, p.number, parts_.size()) +
                  " has not landed: " + std::string(without_prefix(stall.what())));
  }
}

SYNCOPATE_FUNCTION void pipeline::contribute(part& p, pass which, std::span<const tensor_ref> tensors) {
  outbox& box = p.of.next;
  const contribution_plan plan = box.plan(which);
  const std::size_t slot = p.slot_of(p.sent);
  if (plan.sends && p.sent - p.absorbed == static_cast<std::int64_t>(p.of.messages.slots()))
    throw usage_error("syncopate: more messages are in flight than the delay policy's most_in_flight() allows");
  const contribution_facts seen =
      p.way->packs() ? p.way->pack(slot, plan) : p.kept->contribute(tensors, plan, p.sent, p.way->contribution(slot));
  if (!plan.sends) return;
  naming(box.step_number(), p, [&] { p.way->send(slot, box.say(seen), box.due_at_launch()); });
  ++p.sent;
}

SYNCOPATE_FUNCTION void pipeline::expect(std::int64_t step) {
  step_ = step;
  policies_.take_effect();
  for (const auto& of : fragments_) of->messages.expect(of->when, step);
  begin_to_receive();
}

SYNCOPATE_FUNCTION void pipeline::expect_all() {
  for (const auto& of : fragments_) of->messages.expect_all();
  begin_to_receive();
}

SYNCOPATE_FUNCTION void pipeline::begin_to_receive() {
  ++expected_;
  behind_ = parts_.size();
  for (const auto& of : fragments_) of->behind = of->parts.size();
  second_leg_.restart(traits_.sharded ? parts_.size() : 0);
}

SYNCOPATE_FUNCTION void pipeline::receive(std::size_t number, std::span<const tensor_ref> tensors) {
  part& p = parts_[number];
  if (p.received == expected_) return;
  while (second_leg_.left() > number) absorb_due(parts_[second_leg_.next()], tensors);
  absorb_due(p, tensors);
  receive_weights(p, tensors);
  p.kept->show(tensors, p.in_flight(step_));
  p.received = expected_;
  --behind_;
  if (--p.of.behind == 0) tell_signal(p.of);
}

SYNCOPATE_FUNCTION void pipeline::receive_all(std::span<const tensor_ref> tensors) {
  for (std::size_t number = 0; behind_ > 0; ++number) receive(number, tensors);
}

SYNCOPATE_FUNCTION void pipeline::absorb_due(part& p, std::span<const tensor_ref> tensors) {
  while (p.absorbed < p.of.messages.due()) absorb(p, tensors);
}

SYNCOPATE_FUNCTION void pipeline::absorb(part& p, std::span<const tensor_ref> tensors) {
  timeline& messages = p.of.messages;
  const std::int64_t message = p.absorbed;
  receive_weights(p, tensors);  // of the message before
  receive_sum(p, message);
  const verdict& mean = verdict_of(p.of, message);
  ++p.absorbed;
  p.kept->absorb(tensors, {mean.usable ? mean.samples : 0, mean.shrink, p.absorbed < messages.due()},
                 p.way->sum(p.slot_of(message)), p.in_flight(step_));
  if (traits_.sharded)
    naming(messages.step_of(message), p, [&] { p.way->send_weights(p.slot_of(message), p.kept->weights()); });
  if (mean.is_mean()) p.of.signalled = message;
  if (p.number != p.of.parts.back()) return;
  if (messages.at(message).call == calls::step) ++measured_.taken.absorbed;
  if (!mean.usable && options_.non_finite_gradients == non_finite::skip) ++measured_.taken.skipped;
}

SYNCOPATE_FUNCTION void pipeline::receive_weights(part& p, std::span<const tensor_ref> tensors) {
  if (traits_.sharded && p.absorbed > 0)
    naming(p.of.messages.step_of(p.absorbed - 1), p, [&] { p.way->receive_weights(tensors); });
}

SYNCOPATE_FUNCTION const agreed_headers& pipeline::receive_sum(part& p, std::int64_t message) {
  return naming(p.of.messages.step_of(message), p,
                [&]() -> const agreed_headers& { return p.way->receive(p.slot_of(message)); });
}

SYNCOPATE_FUNCTION const verdict& pipeline::verdict_of(fragment& of, std::int64_t message) {
  std::optional<verdict>& known = of.messages.at(message).known;
  if (known) return *known;
  verdict mean = detail::verdict_of(receive_sum(parts_[of.parts.back()], message));
  if (!mean.usable && options_.non_finite_gradients == non_finite::refuse && !refused_) refused_ = {&of, message};
  if (mean.is_mean() && options_.clips() && options_.clip == clipping::after_averaging) {
    double squares = 0;
    for (const std::size_t number : of.parts) {
      receive_sum(parts_[number], message);
      squares += parts_[number].way->squares(parts_[number].slot_of(message));
    }
    if (traits_.sharded) squares = total(wire_, squares);
    bound_norm(mean, squares, options_.largest_norm);
  }
  known = mean;
  return *known;
}

SYNCOPATE_FUNCTION void pipeline::tell_signal(fragment& of) {
  if (of.signalled < 0) return;
  const std::int64_t message = of.signalled;
  of.signalled = -1;
  double squares = 0;
  for (const std::size_t number : of.parts) squares += parts_[number].way->squares_of_all(of.messages.slot_of(message));
  const agreed_headers& said = parts_[of.parts.back()].way->headers(of.messages.slot_of(message));
  signal_ = {of.messages.step_of(message), said.samples,        said.contributors, said.loss, 0, said.squares.all,
             said.squares.latest,          said.squares.earlier};
  signal_.square_of_mean = squares / (signal_.samples * signal_.samples);
  of.when.observe(signal_);
}

SYNCOPATE_FUNCTION void pipeline::poll() {
  for (part& p : parts_)
    for (std::int64_t message = p.absorbed > 0 ? p.absorbed - 1 : 0; message < p.sent; ++message)
      p.way->test(p.slot_of(message));
}

SYNCOPATE_FUNCTION void pipeline::land() {
  for (part& p : parts_)
    for (std::int64_t message = p.absorbed; message < p.sent; ++message) p.way->land(p.slot_of(message));
}

SYNCOPATE_FUNCTION void pipeline::send_back(std::span<const tensor_ref> tensors) {
  const bool waits_for_all = options_.clips() && options_.clip == clipping::after_averaging;
  while (second_leg_.left() > 0) {
    part& p = parts_[second_leg_.left() - 1];
    const std::int64_t due = p.of.messages.due() - p.absorbed;
    if (due > 1 || (due == 1 && (waits_for_all || !p.way->test(p.slot_of(p.absorbed))))) return;
    absorb_due(parts_[second_leg_.next()], tensors);
  }
}

SYNCOPATE_FUNCTION bool pipeline::any_due(const fragment& of, std::int64_t step) const {
  const timeline& messages = of.messages;
  return messages.due() < messages.launched() && of.when.due(messages.step_of(messages.due()), step);
}

SYNCOPATE_FUNCTION bool pipeline::all_have_joined(fragment& of) {
  bool all = true;
  for (const std::size_t number : of.parts)
    all = receive_sum(parts_[number], of.messages.launched() - 1).all_joined && all;
  return all;
}

#endif

}  // namespace syncopate::detail
