#include "make_scheme.hpp"

#include <string>
#include <utility>
#include <vector>

#include "syncopate/adaptors/xtensor.hpp"
#include "syncopate/adaptors/xtensor_blas.hpp"
#include "syncopate/syncopate.hpp"
#include "training.hpp"
#include "with_predictor.hpp"

namespace fashion_mnist {

namespace {

/// Sharded, with the factors of all fully connected layers.
std::unique_ptr<any_scheme> make_factors_scheme(const options& job, syncopate::scheme_options given,
                                                parameters<float>& weights, const job_communicator& communicator) {
  const architecture layers = architecture_of(job);
  for (std::size_t l = 0; l < layers.size(); ++l)
    if (!layers[l].convolves())
      given.factored_layers.push_back(
          {.layer = l,
           .inputs = layers[l].inputs(),
           .outputs = layers[l].outputs,
           .largest_batch = job.grow_batch == growth::none ? job.batch : job.largest_batch});
  given.product = syncopate::xtensor_blas_product{};
  syncopate::update_scheme scheme{
      weights, communicator, syncopate::fixed_delay{0},
      syncopate::sharded_averaging{syncopate::gradient_averaging{
          syncopate::no_prediction{}, syncopate::sgd{.learning_rate = job.learning_rate, .momentum = job.momentum}}},
      given};
  std::vector<std::pair<std::size_t, std::string>> exchanges;
  for (const auto& layer : given.factored_layers)
    exchanges.emplace_back(layer.layer, scheme.exchange_of(layer.layer).text());
  auto made = erase(std::move(scheme));
  made->exchanges = std::move(exchanges);
  return made;
}

}  // namespace

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
  if (scheme.name == "factors") return make_factors_scheme(job, given, weights, communicator);
  if (scheme.name == "lazy")
    return erase(syncopate::lazy_sgd(weights, communicator, rule, {.longest_interval = period}, given));
  if (scheme.name == "sharded") return erase(syncopate::sharded_sgd(weights, communicator, rule, given));
  return erase(syncopate::synchronous_sgd(weights, communicator, rule, given));
}

}  // namespace fashion_mnist
