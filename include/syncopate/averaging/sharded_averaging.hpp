#pragma once

namespace syncopate {

/// Another averaging, whose work and state ranks share (Lee et al., MLHPC 2018; later known as a sharded optimiser):
/// contributions are reduced and scattered, each rank absorbs the mean of its own block of every bucket only, for which
/// alone it keeps policies' state, and weights are gathered. As many bytes travel as otherwise, but in two halves:
/// layer by layer, the first one under backward, and the second one under the next forward.
///
///     sharded_averaging{gradient_averaging{no_prediction{}, adamw{}}}
///
/// Needs a `ShardingCommunicator`, and an averaging that neither advances nor looks ahead. The scheme keeps this rank's
/// blocks of the weights itself: what the user writes to the weights between two steps is not seen.
template <class Averaging>
struct sharded_averaging : Averaging {
  static constexpr bool sharded = true;
};

template <class Averaging>
sharded_averaging(Averaging) -> sharded_averaging<Averaging>;

}  // namespace syncopate
