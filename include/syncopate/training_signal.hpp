#pragma once

#include <cstdint>

namespace syncopate {

/// What all ranks know of the newest mean that was absorbed: numbers that travelled with its message, bitwise the same
/// on all ranks, from which all take the same decisions at the same step.
struct training_signal {
  std::int64_t step = -1;  ///< at which its gradients were computed; -1: there has been none
  double samples = 0;      ///< that all ranks contributed
  int ranks = 0;           ///< that contributed some
  /// Mean over samples of what ranks told by `update_scheme::note_loss`; 0 where they told nothing.
  double loss = 0;
  /// ‖mean of the gradients‖², and the mean of ranks' ‖gradient‖², weighted by samples; 0 unless
  /// `scheme_options::observes_gradients`.
  double square_of_mean = 0, mean_of_squares = 0;
  /// Where gradients of several steps travel together, as their sum: means likewise of ranks' ‖gradient of the last of
  /// these steps‖² and ‖sum of the earlier ones‖².
  double latest_squares = 0, earlier_squares = 0;
};

}  // namespace syncopate
