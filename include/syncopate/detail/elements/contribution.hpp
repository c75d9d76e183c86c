#pragma once

namespace syncopate::detail {

/// Sums of squares of a contribution's elements.
struct observed_squares {
  double all = 0;
  double latest = 0;   ///< of what the last step has added to it
  double earlier = 0;  ///< of what the steps before have brought together
};

/// What is to be done with the gradients of one step.
struct contribution_plan {
  double samples = 0;             ///< this rank's weight at this step; 0: its gradient is not looked at
  bool makes_local_move = false;  ///< whether each rank's own move happens, if the averaging has one
  bool sends = false;             ///< whether the message is to be complete afterwards
  bool adds = false;              ///< whether earlier steps have contributed to it already
  bool checks = false;            ///< whether it is looked at for infinities and NaN
  bool observes = false;          ///< whether its squares are wanted
  double samples_of_message = 0;  ///< this rank's weight in the mean
};

/// What was seen of a contribution.
struct contribution_facts {
  bool finite = true;  ///< as far as it was looked at; zeros are contributed, if not
  observed_squares squares{};
};

}  // namespace syncopate::detail
