#pragma once

#include <string_view>

#include "syncopate/syncopate.hpp"

namespace fashion_mnist {

/// Calls `use(predictor)` with the predictor of that name: one of `committed_predictors`.
template <class Use>
auto with_committed_predictor(std::string_view name, Use&& use) {
  if (name == "exponential-smoothing") return use(syncopate::exponential_smoothing{});
  if (name == "adaptive-exponential-smoothing") return use(syncopate::adaptive_exponential_smoothing<>{});
  if (name == "linear-extrapolation") return use(syncopate::linear_extrapolation{});
  if (name == "delay-compensation") return use(syncopate::delay_compensation{});
  return use(syncopate::no_prediction{});
}

/// The same for `lookahead_predictors`.
template <class Use>
auto with_lookahead_predictor(std::string_view name, Use&& use) {
  if (name == "local-gradient") return use(syncopate::local_gradient{});
  if (name == "blended-gradient") return use(syncopate::blended_gradient{});
  return with_committed_predictor(name, use);
}

}  // namespace fashion_mnist
