#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstring>
#include <memory>
#include <vector>

#include "../../communicators/mpi_options.hpp"
#include "agreement.hpp"
#include "check.hpp"
#include "driver.hpp"
#include "library_call.hpp"
#include "operation.hpp"
#include "peers.hpp"

/// What ranks do before they have a channel: each in an operation of no channel, that all ranks call.
namespace syncopate::detail {

/// Hears of failures on all channels of a family, that is, of a communicator and its duplicates.
using mpi_family = std::shared_ptr<mpi_peers>;

/// Drives the operation until it is over. If it is in vain to wait for that, it goes on.
inline void complete_mpi(const std::shared_ptr<library_call>& operation, const mpi_call& call, mpi_peers& peers) {
  static mpi_traffic nobodys;
  operation->prepare(nobodys, false, call, &peers);
  mpi_driver& driver = mpi_driver::of_process();
  driver.start_polled(*operation);
  try {
    driver.wait(*operation);
  } catch (...) {
    if (!operation->ended()) driver.keep(operation);
    throw;
  }
}

/// One that returns errors.
inline MPI_Comm duplicate_mpi(MPI_Comm original, const mpi_call& call, mpi_peers& peers) {
  require_mpi("duplicate a communicator");
  const auto operation = std::make_shared<library_call>();
  operation->set_duplicate(original);
  complete_mpi(operation, call, peers);
  check_mpi(MPI_Comm_set_errhandler(operation->duplicate(), MPI_ERRORS_RETURN), "set an error handler");
  return operation->duplicate();
}

inline mpi_family open_mpi_family(MPI_Comm original, const mpi_options& options) {
  require_mpi("duplicate a communicator");
  int rank = 0, ranks = 1;
  check_mpi(MPI_Comm_rank(original, &rank), "ask for the rank");
  check_mpi(MPI_Comm_size(original, &ranks), "ask for the number of ranks");
  auto peers = std::make_shared<mpi_peers>(rank, ranks, options.stall_limit_seconds);
  peers->open(duplicate_mpi(original, {{collective_call::kind::creation}}, *peers));
  return peers;
}

/// Lets ranks tell each other what they have to agree on.
inline std::vector<mpi_rank_facts> gather_mpi_facts(MPI_Comm communicator, int rank, int ranks,
                                                    const mpi_options& options, const mpi_call& call,
                                                    mpi_peers& peers) {
  mpi_rank_facts own = facts_of_rank(communicator, options);
  own.channel = peers.number_of_channel();
  std::vector<mpi_rank_facts> all(static_cast<std::size_t>(ranks));
  const auto operation = std::make_shared<library_call>();
  operation->set_gather(communicator, ranks, sizeof own);
  const auto staged = operation->staged();
  std::memcpy(staged.subspan(static_cast<std::size_t>(rank) * sizeof own).data(), &own, sizeof own);
  complete_mpi(operation, call, peers);
  std::memcpy(all.data(), staged.data(), staged.size());
  return all;
}

}  // namespace syncopate::detail
