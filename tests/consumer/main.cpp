// A project that uses the library: least squares by whichever communicator it was built for.
#include <cmath>
#include <cstdio>
#include <syncopate/syncopate.hpp>
#include <vector>

#ifdef WITH_BOOST_MPI
#include <boost/mpi/environment.hpp>
#include <syncopate/communicators/boost_mpi.hpp>
#endif

int main() {
#ifdef WITH_BOOST_MPI
  boost::mpi::environment environment;
  syncopate::boost_mpi communicator{boost::mpi::communicator{}};
#else
  syncopate::loopback communicator;
#endif
  std::vector<double> weights{5.0, -3.0}, gradients(2);
  auto scheme = syncopate::synchronous_sgd(weights, std::move(communicator), syncopate::sgd{.learning_rate = 0.1});
  for (int step = 0; step < 200; ++step) {  // minimises (w0 - 1)² / 2 + (w1 - 2)² / 2
    gradients = {weights[0] - 1.0, weights[1] - 2.0};
    scheme.step(weights, gradients);
  }
  scheme.finish(weights);
  std::printf("weights %.6f %.6f\n", weights[0], weights[1]);
  return std::abs(weights[0] - 1.0) < 1e-6 && std::abs(weights[1] - 2.0) < 1e-6 ? 0 : 1;
}
