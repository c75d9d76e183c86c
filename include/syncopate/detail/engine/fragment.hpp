#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "../exchange/exchange.hpp"
#include "../sweep/bucket.hpp"
#include "outbox.hpp"
#include "schedule.hpp"
#include "timeline.hpp"

namespace syncopate::detail {

struct fragment;

/// A bucket in the engine: tensors that travel together, their way, what is kept for them, and how far they are on
/// their fragment's timeline. Messages count from 0: those below `absorbed` have been, those from there up to `sent`
/// have left.
struct part {
  std::size_t number;  ///< in the order in which they leave
  std::size_t element_bytes;
  fragment& of;
  std::unique_ptr<exchange> way;
  std::unique_ptr<bucket> kept;
  std::int64_t sent = 0;      ///< messages that have left
  std::int64_t absorbed = 0;  ///< messages that are in the weights
  std::int64_t received = 0;  ///< how often it has received what was due: see `pipeline`

  std::size_t slot_of(std::int64_t message) const;
  /// What its bucket has to know of the messages in flight, looked at in a step.
  in_flight_view in_flight(std::int64_t step) const;
};

/// Parts that share a schedule, and so their messages' numbers and what is said with them. The whole model, unless the
/// delay policy says otherwise.
struct fragment {
  fragment(schedule& by, std::size_t slots) : when(by), messages(slots) {}
  fragment(fragment&&) = delete;

  schedule& when;
  timeline messages;
  outbox next;                       ///< what is said with the next message
  std::vector<std::size_t> parts{};  ///< their numbers; the last one speaks for all
  std::size_t behind = 0;            ///< parts that have not received yet what is due
  std::int64_t signalled = -1;  ///< the newest message that brought a mean of which nobody was told yet; −1: none
};

inline std::size_t part::slot_of(std::int64_t message) const { return of.messages.slot_of(message); }

inline in_flight_view part::in_flight(std::int64_t step) const {
  // What leaves in the step that is being made is not in flight before that has ended. Before the first message there
  // is one that was never used, and is zero.
  const std::int64_t launched = of.messages.launched(), newest = absorbed > 0 ? absorbed - 1 : launched;
  return of.messages.view(absorbed, step, way->sum(slot_of(newest)));
}

}  // namespace syncopate::detail
