#pragma once

#include <cmath>

#include "../../scheme_options.hpp"
#include "../exchange/header.hpp"

namespace syncopate::detail {

/// What has to be known of a message before any bucket of it is absorbed.
struct verdict {
  double samples = 0;  ///< that all ranks contributed; 0: there is no mean
  double shrink = 1;   ///< what the mean is to be multiplied by
  bool usable = true;  ///< whether all contributions were finite

  bool is_mean() const { return usable && samples > 0; }
};

/// Of what all ranks said; norms are bounded later, once the sum is there.
inline verdict verdict_of(const agreed_headers& said) { return {said.samples, 1, said.finite}; }

/// Bounds the global norm of the mean, given the squares of the sum.
inline void bound_norm(verdict& of, double squares_of_sum, double largest_norm) {
  const double norm = std::sqrt(squares_of_sum) / of.samples;
  if (norm > largest_norm) of.shrink = largest_norm / norm;
}

}  // namespace syncopate::detail
