#pragma once

#include <memory>

#include "any_scheme.hpp"
#include "job_communicator.hpp"
#include "options.hpp"
#include "scheme_list.hpp"
#include "syncopate/scheme_options.hpp"

namespace fashion_mnist {

/// What schemes are given besides their policies: each layer travels by itself where it leaves by itself.
inline syncopate::scheme_options scheme_options_of(const options& job, const scheme_description& scheme) {
  return {.bucket_bytes = scheme.by_layer ? 0 : syncopate::default_bucket_bytes,
          .observes_gradients = job.grow_batch == growth::noise};
}

/// The scheme of that description. Collective.
std::unique_ptr<any_scheme> make_scheme(const options& job, const scheme_description& scheme,
                                        parameters<float>& weights, const job_communicator& communicator);

/// The same for those that look ahead: a source of its own, since each predictor takes the compiler a few seconds.
std::unique_ptr<any_scheme> make_lookahead_scheme(const options& job, const scheme_description& scheme,
                                                  parameters<float>& weights, const job_communicator& communicator);

}  // namespace fashion_mnist
