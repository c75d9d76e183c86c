#pragma once

namespace syncopate {

/// What becomes of a buffer besides the weights, such as the running statistics of a normalisation, or a counter, when
/// ranks combine it.
enum class combination {
  average,  ///< the mean over ranks; of floating-point numbers only
  keep,     ///< each rank keeps its own
  maximum   ///< the largest over ranks, element by element
};

}  // namespace syncopate
