#pragma once

#include <cstdint>

#include "../bodies.hpp"
#include "../elements/contribution.hpp"
#include "../elements/state_visitor.hpp"
#include "../exchange/header.hpp"

namespace syncopate::detail {

/// Which of a step's doings are under way. Where ranks hold weights of their own, a snapshot that is to contain the
/// mean which is merged at the same step is taken in a pass of its own: first ranks move, then they receive, then they
/// send. Else what was merged would be averaged, and merged, once more.
enum class pass { first, second };

/// What this rank says next, with the message of a fragment: what steps have brought together since the last one.
class outbox {
 public:
  /// A step begins.
  struct step {
    std::int64_t number;
    calls call;
    double samples;      ///< 0: the gradient is not looked at, and the rank contributes zeros
    double loss;         ///< of the mini-batch
    bool launches;       ///< whether a message leaves
    bool due_at_launch;  ///< and nobody does anything until it has landed
    bool checks;         ///< whether contributions are looked at for infinities and NaN
    bool observes;       ///< whether norms are wanted
    std::uint64_t hyperparameters;
  };
  void begin(const step& now);

  bool launches() const { return now_.launches; }
  bool due_at_launch() const { return now_.due_at_launch; }
  std::int64_t step_number() const { return now_.number; }
  calls call() const { return now_.call; }
  double samples() const { return now_.samples; }
  bool checks() const { return now_.checks; }

  /// No local move is made in this step, since a gradient is not finite; the others are told so with the next message,
  /// if `told`.
  void leave_out_move(bool told);
  /// A mean is merged at this step, and the snapshot is to contain it: it is taken in the second pass.
  void take_snapshot_last() { snapshot_last_ = true; }
  bool takes_snapshot_last() const { return snapshot_last_; }

  /// What a bucket is to contribute.
  contribution_plan plan(pass which) const;
  /// What is said with a bucket's message, given what was seen of its contribution. Adds up: the bucket that leaves
  /// last says all.
  header say(const contribution_facts& seen);

  /// The step ends. With `collects`, what it has contributed without a message is part of the next one.
  void end(bool collects);

  void serialise(state_visitor& visitor);

 private:
  struct collected {
    std::int64_t steps = 0;  ///< in which this rank had samples
    double samples = 0;      ///< of them all
    double loss = 0;         ///< their mean
  };
  /// This rank's weight in the mean.
  double samples_of_message() const { return all_.steps > 0 ? all_.samples / static_cast<double>(all_.steps) : 0; }

  step now_{};
  collected earlier_, all_;   ///< before this step, and with it
  observed_squares squares_;  ///< of what has left of the message
  bool at_fault_ = false;     ///< whether a local move was left out that the other ranks do not know of yet
  bool not_finite_ = false;   ///< or something that has left was not finite
  bool makes_local_move_ = true, snapshot_last_ = false;
};

#if SYNCOPATE_BODIES

SYNCOPATE_FUNCTION void outbox::begin(const step& now) {
  now_ = now;
  all_ = earlier_;
  if (now.samples > 0) {
    ++all_.steps;
    all_.samples += now.samples;
    all_.loss += (now.loss - all_.loss) * (now.samples / all_.samples);
  }
  squares_ = {};
  not_finite_ = at_fault_;
  makes_local_move_ = true;
  snapshot_last_ = false;
}

SYNCOPATE_FUNCTION void outbox::leave_out_move(bool told) {
  makes_local_move_ = false;
  not_finite_ = at_fault_ = at_fault_ || told;
}

SYNCOPATE_FUNCTION contribution_plan outbox::plan(pass which) const {
  const bool first = which == pass::first, sends = now_.launches && first != snapshot_last_;
  return {now_.samples,  first && makes_local_move_, sends, earlier_.steps > 0, now_.checks,
          now_.observes, samples_of_message()};
}

SYNCOPATE_FUNCTION header outbox::say(const contribution_facts& seen) {
  not_finite_ = not_finite_ || !seen.finite;
  header said{now_.number, now_.call, !not_finite_};
  said.hyperparameters = now_.hyperparameters;
  if (all_.steps == 0 || !seen.finite) return said;
  said.samples = samples_of_message();
  said.loss = all_.loss;
  squares_.all += seen.squares.all;
  squares_.latest += seen.squares.latest;
  squares_.earlier += seen.squares.earlier;
  said.squares = squares_;
  return said;
}

SYNCOPATE_FUNCTION void outbox::end(bool collects) {
  earlier_ = collects && !now_.launches ? all_ : collected{};
  if (now_.launches) at_fault_ = false;
}

SYNCOPATE_FUNCTION void outbox::serialise(state_visitor& visitor) {
  visitor.as<std::int64_t>(at_fault_);
  visitor.number(earlier_.steps);
  visitor.number(earlier_.samples);
  visitor.number(earlier_.loss);
}

#endif

}  // namespace syncopate::detail
