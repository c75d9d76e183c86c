#pragma once

#include <vector>

#include "data.hpp"
#include "options.hpp"
#include "result.hpp"

namespace fashion_mnist {

/// Trains by each chosen scheme in turn on threads of this process. Throws what a rank threw.
std::vector<result> run_on_threads(const options& job, const data_set& training, const data_set& test);

/// The same on the ranks of MPI's world. Collective.
std::vector<result> run_on_mpi(const options& job, const data_set& training, const data_set& test);

}  // namespace fashion_mnist
