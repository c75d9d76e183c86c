#pragma once

#include <memory>

#include "any_scheme.hpp"
#include "job_communicator.hpp"
#include "options.hpp"
#include "scheme_list.hpp"

namespace fashion_mnist {

/// The scheme of that description. Collective.
std::unique_ptr<any_scheme> make_scheme(const options& job, const scheme_description& scheme,
                                        parameters<float>& weights, const job_communicator& communicator);

/// The same for those that look ahead: a source of its own, since each predictor takes the compiler a few seconds.
std::unique_ptr<any_scheme> make_lookahead_scheme(const options& job, const scheme_description& scheme,
                                                  parameters<float>& weights, const job_communicator& communicator);

}  // namespace fashion_mnist
