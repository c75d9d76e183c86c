#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "../elements/contribution.hpp"
#include "../elements/slice.hpp"
#include "../elements/state_visitor.hpp"

namespace syncopate::detail {

/// The messages of a bucket that matter now, by number: those in flight, and the one that was absorbed last. The memory
/// of message n is in slot n modulo the number of slots.
struct in_flight_view {
  std::int64_t first = 0, last = 0;     ///< those in flight: from `first` up to, not including, `last`
  std::span<const std::int64_t> steps;  ///< at which messages left; of message n at n modulo their number
  std::size_t slots = 1;
  std::int64_t step = 0;         ///< at which it is looked at
  const void* newest = nullptr;  ///< the sum that was absorbed last, of message `first` − 1; zeros, if there is none

  std::int64_t count() const { return last - first; }
  /// Of a message by its number.
  std::int64_t step_of(std::int64_t number) const { return steps[static_cast<std::size_t>(number) % steps.size()]; }
  std::size_t slot_of(std::int64_t number) const { return static_cast<std::size_t>(number) % slots; }
};

/// What is to become of a sum that has landed.
struct mean_plan {
  double samples = 0;        ///< of all ranks; 0: there is no mean
  double shrink = 1;         ///< what the mean is multiplied by
  bool more_follow = false;  ///< whether another mean is absorbed next
};

/// The elements of tensors that travel together, and everything that is kept for them: the loops that an averaging's
/// formulas run in. Knows of no message's way. Sums and contributions are in memory of the caller's.
class bucket {
 public:
  virtual ~bucket() = default;

  /// Loop 1: the local move of one step, and what this rank contributes to the message `number`. Reads gradients, which
  /// may be overwritten afterwards.
  virtual contribution_facts contribute(std::span<const tensor_ref> tensors, const contribution_plan& plan,
                                        std::int64_t number, void* message) = 0;

  /// Loop 2: makes the sum of the message before `messages.first` a mean, and folds that into weights and state; leaves
  /// in the user's tensors what the averaging wants there.
  virtual void absorb(std::span<const tensor_ref> tensors, const mean_plan& plan, void* sum,
                      const in_flight_view& messages) = 0;

  /// Leaves in the user's tensors what the averaging wants there, if that is not there yet.
  virtual void show(std::span<const tensor_ref> tensors, const in_flight_view& messages) = 0;

  /// Takes the weights to start from: as true weights, where it keeps these, and in state vectors that start as them.
  /// Then those to go on with: as true weights alone.
  virtual void start(std::span<const tensor_ref> tensors) = 0;
  virtual void take_weights(std::span<const tensor_ref> tensors) = 0;
  /// The true weights that this rank keeps up to date, one after the other, where the user's tensors do not hold them;
  /// else null.
  virtual const void* weights() const = 0;

  /// All that is kept, for checkpoints and for what else walks through it.
  virtual void serialise(state_visitor& visitor) = 0;
};

}  // namespace syncopate::detail
