#pragma once

#include <mpi.h>

#include "check.hpp"

namespace syncopate::detail {

/// A duplicate of an MPI communicator, which returns errors. To make and to destroy one is collective; once MPI is
/// finalized, destroying it does nothing.
class mpi_duplicate {
 public:
  explicit mpi_duplicate(MPI_Comm original) {
    require_mpi("duplicate a communicator");
    check_mpi(MPI_Comm_dup(original, &own_), "duplicate a communicator");
    check_mpi(MPI_Comm_set_errhandler(own_, MPI_ERRORS_RETURN), "set an error handler");
  }
  mpi_duplicate(const mpi_duplicate&) = delete;
  mpi_duplicate& operator=(const mpi_duplicate&) = delete;
  ~mpi_duplicate() {
    int finalized = 0;
    MPI_Finalized(&finalized);
    if (!finalized) MPI_Comm_free(&own_);
  }

  MPI_Comm get() const { return own_; }

 private:
  MPI_Comm own_ = MPI_COMM_NULL;
};

}  // namespace syncopate::detail
