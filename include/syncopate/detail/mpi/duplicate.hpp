#pragma once

#include <mpi.h>

#include <memory>
#include <utility>

#include "check.hpp"
#include "peers.hpp"

namespace syncopate::detail {

/// Owns an MPI communicator. To destroy it is collective; once MPI is finalized, or peers are lost, that does nothing.
class mpi_duplicate {
 public:
  mpi_duplicate(MPI_Comm own, std::shared_ptr<const mpi_peers> peers) : own_(own), peers_(std::move(peers)) {}
  mpi_duplicate(const mpi_duplicate&) = delete;
  mpi_duplicate& operator=(const mpi_duplicate&) = delete;
  ~mpi_duplicate() {
    if (mpi_is_usable() && !peers_->broken()) MPI_Comm_free(&own_);
  }

  MPI_Comm get() const { return own_; }

 private:
  MPI_Comm own_;
  std::shared_ptr<const mpi_peers> peers_;
};

}  // namespace syncopate::detail
