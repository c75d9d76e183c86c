#ifdef SYNCOPATE_EXAMPLE_MPI

#include <boost/mpi/communicator.hpp>

#include "run.hpp"
#include "run_schemes.hpp"
#include "syncopate/communicators/boost_mpi.hpp"

namespace fashion_mnist {

std::vector<result> run_on_mpi(const options& job, const data_set& training, const data_set& test) {
  const syncopate::boost_mpi communicator{boost::mpi::communicator{}};
  return run_schemes(job, communicator, training, test);
}

}  // namespace fashion_mnist

#endif
