#pragma once

#include <memory>
#include <string_view>

#include "any_scheme.hpp"
#include "options.hpp"
#include "scheme_list.hpp"
#include "syncopate/adaptors/xtensor.hpp"
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

/// The scheme of that description. Collective.
template <class Communicator>
std::unique_ptr<any_scheme> make_scheme(const options& job, const scheme_description& scheme,
                                        parameters<float>& weights, const Communicator& communicator) {
  const syncopate::sgd rule{.learning_rate = job.learning_rate, .momentum = job.momentum};
  const std::int64_t delay = job.delay.value_or(default_delay), period = job.period.value_or(default_period);

  if (scheme.name == "pseudo-synchronous")
    return with_committed_predictor(predictor_of(job, scheme), [&](auto predictor) {
      return erase(syncopate::pseudo_synchronous_sgd(weights, communicator, rule, predictor, delay));
    });
  if (scheme.name == "lookahead")
    return with_lookahead_predictor(predictor_of(job, scheme), [&](auto predictor) {
      return erase(syncopate::lookahead_sgd(weights, communicator, rule, predictor, delay));
    });
  if (scheme.name == "od-sgd") return erase(syncopate::od_sgd(weights, communicator, rule, od_sgd_warm_up_steps));
  if (scheme.name == "dasgd")
    return erase(syncopate::dasgd(weights, communicator, rule,
                                  syncopate::periodic_delay{.period = period, .delay = delay}, dasgd_own_share));
  if (scheme.name == "local-sgd") return erase(syncopate::local_sgd(weights, communicator, rule, period));
  return erase(syncopate::synchronous_sgd(weights, communicator, rule));
}

}  // namespace fashion_mnist
