#include "make_scheme.hpp"
#include "syncopate/adaptors/xtensor.hpp"
#include "syncopate/syncopate.hpp"
#include "with_predictor.hpp"

namespace fashion_mnist {

std::unique_ptr<any_scheme> make_lookahead_scheme(const options& job, const scheme_description& scheme,
                                                  parameters<float>& weights, const job_communicator& communicator) {
  const syncopate::sgd rule{.learning_rate = job.learning_rate, .momentum = job.momentum};
  const syncopate::scheme_options given = scheme_options_of(job, scheme);
  if (scheme.name == "od-sgd")
    return erase(syncopate::od_sgd(weights, communicator, rule, od_sgd_warm_up_steps, given));
  return with_lookahead_predictor(predictor_of(job, scheme), [&](auto predictor) {
    return erase(
        syncopate::lookahead_sgd(weights, communicator, rule, predictor, job.delay.value_or(default_delay), given));
  });
}

}  // namespace fashion_mnist
