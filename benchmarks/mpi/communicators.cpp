/// What a sum over ranks costs: `boost_mpi` next to `MPI_Allreduce` on the same memory, from 4 bytes to 64 MiB. Run it
/// under mpirun, with Google Benchmark's command line; rank 0 reports.
#include <mpi.h>

#include <boost/mpi/communicator.hpp>
#include <boost/mpi/environment.hpp>
#include <iostream>
#include <span>
#include <string>
#include <syncopate/benchmark.hpp>
#include <syncopate/communicators/boost_mpi.hpp>
#include <syncopate/error.hpp>

namespace {

using syncopate::mpi_options;
using syncopate::mpi_progress;
using syncopate::mpi_transport;

const syncopate::named_sum all_reduce{"mpi_allreduce", [](std::span<float> elements) {
                                        MPI_Allreduce(MPI_IN_PLACE, elements.data(), static_cast<int>(elements.size()),
                                                      MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
                                      }};

void add(const std::string& way, const mpi_options& options) {
  syncopate::benchmark_sum("sum/" + way, syncopate::boost_mpi({}, options), {.against = {all_reduce}});
}

}  // namespace

int main(int argc, char** argv) {
  const boost::mpi::environment environment(argc, argv, boost::mpi::threading::multiple);
  const boost::mpi::communicator world;
  try {
    add("automatic", {});
    add("library_on_poll", {.progress = mpi_progress::on_poll, .transport = mpi_transport::library});
    add("ring_on_poll", {.progress = mpi_progress::on_poll, .transport = mpi_transport::ring});
    add("library_on_thread", {.progress = mpi_progress::on_thread, .transport = mpi_transport::library});
    add("ring_on_thread", {.progress = mpi_progress::on_thread, .transport = mpi_transport::ring});
    benchmark::AddCustomContext("ranks", std::to_string(world.size()));
    const int code = syncopate::run_benchmarks(argc, argv, world.rank());
    benchmark::ClearRegisteredBenchmarks();  // and with them the communicators, as long as there is MPI
    return code;
  } catch (const syncopate::error& error) {
    std::cerr << error.what() << "\n";
    return 1;
  }
}
