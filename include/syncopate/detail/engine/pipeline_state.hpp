#pragma once

#include <cstdint>
#include <string>

#include "pipeline.hpp"

/// What a pipeline tells between steps.
namespace syncopate::detail {

#if SYNCOPATE_BODIES

SYNCOPATE_FUNCTION void pipeline::throw_refused() {
  const refusal told = *refused_;
  refused_.reset();
  const timeline& messages = told.of->messages;
  for (const std::size_t number : told.of->parts)
    if (const auto rank = parts_[number].way->headers(messages.slot_of(told.message)).not_finite_rank)
      throw non_finite_error("syncopate: what rank " + std::to_string(*rank) + " contributed to " +
                             text_of_message(messages.step_of(told.message), number, parts_.size()) + " is not finite");
}

SYNCOPATE_FUNCTION void pipeline::serialise(state_visitor& visitor, std::int64_t clock) {
  visitor.number(signal_.step);
  visitor.as<std::int64_t>(signal_.ranks);
  for (double* const number : {&signal_.samples, &signal_.loss, &signal_.square_of_mean, &signal_.mean_of_squares,
                               &signal_.latest_squares, &signal_.earlier_squares})
    visitor.number(*number);
  for (const auto& of : fragments_) {
    of->messages.serialise(visitor, clock);
    of->next.serialise(visitor);
    of->when.serialise(visitor);
  }
  for (part& p : parts_) {
    p.way->serialise(visitor);
    p.kept->serialise(visitor);
    if (!visitor.reads()) continue;
    p.sent = p.of.messages.launched();
    p.absorbed = p.of.messages.due();
  }
}

#endif

}  // namespace syncopate::detail
