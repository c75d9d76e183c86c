#include "make_scheme.hpp"

#include "syncopate/adaptors/xtensor.hpp"
#include "syncopate/syncopate.hpp"
#include "with_predictor.hpp"

namespace fashion_mnist {

std::unique_ptr<any_scheme> make_scheme(const options& job, const scheme_description& scheme,
                                        parameters<float>& weights, const job_communicator& communicator) {
  const syncopate::sgd rule{.learning_rate = job.learning_rate, .momentum = job.momentum};
  const syncopate::scheme_options given = scheme_options_of(job, scheme);
  const std::int64_t delay = job.delay.value_or(default_delay), period = job.period.value_or(default_period);

  if (scheme.name == "lookahead" || scheme.name == "od-sgd")
    return make_lookahead_scheme(job, scheme, weights, communicator);
  if (scheme.name == "pseudo-synchronous")
    return with_committed_predictor(predictor_of(job, scheme), [&](auto predictor) {
      return erase(syncopate::pseudo_synchronous_sgd(weights, communicator, rule, predictor, delay, given));
    });
  if (scheme.name == "dasgd")
    return erase(syncopate::dasgd(weights, communicator, rule,
                                  syncopate::periodic_delay{.period = period, .delay = delay}, dasgd_own_share));
  if (scheme.name == "local-sgd") return erase(syncopate::local_sgd(weights, communicator, rule, period));
  if (scheme.name == "sharded") return erase(syncopate::sharded_sgd(weights, communicator, rule, given));
  return erase(syncopate::synchronous_sgd(weights, communicator, rule, given));
}

}  // namespace fashion_mnist
