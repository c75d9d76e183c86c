#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "../../error.hpp"
#include "../bodies.hpp"
#include "../elements/state_visitor.hpp"
#include "../exchange/header.hpp"
#include "../sweep/bucket.hpp"
#include "schedule.hpp"
#include "verdict.hpp"

namespace syncopate::detail {

/// The messages of a fragment, numbered as they leave, and which of them are to be absorbed. What a bucket has sent,
/// absorbed and shown are numbers to be compared with these.
class timeline {
 public:
  struct message {
    calls call = calls::step;        ///< what this rank called to send it
    std::optional<verdict> known{};  ///< once it was received
  };

  /// With memory for so many messages at a time. The steps of two more are remembered: of the one that was absorbed
  /// last, and of the one that is about to leave.
  explicit timeline(std::size_t slots) : slots_(slots), messages_(slots + 2), steps_(slots + 2) {}

  std::size_t slots() const { return slots_; }
  std::size_t slot_of(std::int64_t number) const { return static_cast<std::size_t>(number) % slots_; }
  std::int64_t launched() const { return launched_; }  ///< those below have left, whole
  std::int64_t due() const { return due_; }            ///< those below are to be absorbed
  message& at(std::int64_t number) { return messages_[static_cast<std::size_t>(number) % messages_.size()]; }
  std::int64_t step_of(std::int64_t number) const { return steps_[static_cast<std::size_t>(number) % steps_.size()]; }

  /// The next message leaves, bucket by bucket from now on; and has left.
  void open(std::int64_t step, calls call);
  void close() { ++launched_; }

  /// Here a late message is found due: moves on to what is due at a step, or to all that has left.
  void expect(const schedule& when, std::int64_t step);
  void expect_all() { due_ = launched_; }

  /// What a bucket has to know that has absorbed so many messages; `newest` is the sum of the last one.
  in_flight_view view(std::int64_t absorbed, std::int64_t step, const void* newest) const {
    return {absorbed, launched_, steps_, slots_, step, newest};
  }

  void serialise(state_visitor& visitor, std::int64_t clock);

 private:
  std::size_t slots_;
  std::vector<message> messages_;
  std::vector<std::int64_t> steps_;  ///< at which they left
  std::int64_t launched_ = 0, due_ = 0;
};

#if SYNCOPATE_BODIES

SYNCOPATE_FUNCTION void timeline::open(std::int64_t step, calls call) {
  at(launched_) = {call};
  steps_[static_cast<std::size_t>(launched_) % steps_.size()] = step;
}

SYNCOPATE_FUNCTION void timeline::expect(const schedule& when, std::int64_t step) {
  while (due_ < launched_ && when.due(step_of(due_), step)) ++due_;
}

SYNCOPATE_FUNCTION void timeline::serialise(state_visitor& visitor, std::int64_t clock) {
  visitor.number(launched_);
  visitor.number(due_);
  if (launched_ < 0 || launched_ > clock || due_ < 0 || due_ > launched_ ||
      launched_ - due_ > static_cast<std::int64_t>(slots_))
    throw checkpoint_error("syncopate: the checkpoint is damaged: its numbers of messages contradict each other");
  for (std::size_t i = 0; i < messages_.size(); ++i) {
    visitor.number(steps_[i]);
    auto call = static_cast<std::int64_t>(messages_[i].call);
    visitor.number(call);
    if (steps_[i] < 0 || steps_[i] > clock)
      throw checkpoint_error("syncopate: the checkpoint is damaged: a message in it is of no step that has been");
    if (call != static_cast<std::int64_t>(calls::step) && call != static_cast<std::int64_t>(calls::join))
      throw checkpoint_error("syncopate: the checkpoint is damaged: a message in it is of no known kind");
    messages_[i].call = static_cast<calls>(call);
    if (visitor.reads()) messages_[i].known.reset();
  }
}

#endif

}  // namespace syncopate::detail
