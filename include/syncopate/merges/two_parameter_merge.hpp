#pragma once

#include "../concepts.hpp"
#include "../detail/validate.hpp"

namespace syncopate {

/// The merge that contains DaSGD's and its relatives' (derived by this project). Of a late mean a, the weights w and
/// the snapshot of them that went into a:
///
///     w ← a + ξ (snapshot − a) + θ (w − snapshot);  a fresh mean replaces the weights (local SGD)
///
/// | θ | ξ |                                                                                                  |
/// |---|---|--------------------------------------------------------------------------------------------------|
/// | ξ | ξ | `blend`, the merge of DaSGD [Zhou et al. 2020]                                                   |
/// | 1 | 0 | delta merge: keeps all local progress made meanwhile, as CoCoD-SGD [Shen et al. 2019] and hivemind |
/// | 0 | 0 | `replace`                                                                                        |
/// | 1 | 1 | ranks never meet                                                                                 |
struct two_parameter_merge {
  /// θ, in [0, 1]: how much is kept of what this rank learnt since the snapshot.
  double local_progress = 1;
  /// ξ, in [0, 1]: how much is kept of the snapshot's distance from the mean.
  double disagreement = 0;

  static constexpr bool keeps_own = true;

  template <class T>
  constexpr T merge(T weight, const landed<T>& m) const {
    const double progress = m.staleness == 0 ? 0.0 : local_progress;
    const double distance = m.staleness == 0 ? 0.0 : disagreement;
    const T met = m.mean + T(distance) * (m.own - m.mean);
    return met + T(progress) * (weight - m.own);
  }

  /// Throws `configuration_error` unless both are in [0, 1].
  void validate() const {
    detail::require_between(local_progress, 0, 1, "two_parameter_merge.local_progress");
    detail::require_between(disagreement, 0, 1, "two_parameter_merge.disagreement");
  }
};

}  // namespace syncopate
