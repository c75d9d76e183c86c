#pragma once

#include <mpi.h>

#include <cstddef>
#include <string>

#include "../../error.hpp"

/// MPI's errors as exceptions.
namespace syncopate::detail {

/// Whether MPI can be called now.
inline bool mpi_is_usable() noexcept {
  int initialized = 0, finalized = 0;
  MPI_Initialized(&initialized);
  MPI_Finalized(&finalized);
  return initialized && !finalized;
}

/// Throws `communication_error` unless MPI can be called now.
inline void require_mpi(const char* attempt) {
  int finalized = 0;
  MPI_Finalized(&finalized);
  if (!mpi_is_usable())
    throw communication_error(std::string("syncopate: cannot ") + attempt +
                              (finalized ? ": MPI is finalized already; let the boost::mpi::environment live longer"
                                         : ": MPI is not initialised; create a boost::mpi::environment first"));
}

/// Throws `communication_error`, with MPI's text, unless the code says success.
inline void check_mpi(int code, const char* attempt, std::size_t count = 0) {
  if (code == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  MPI_Error_string(code, text, &length);
  throw communication_error(std::string("syncopate: MPI could not ") + attempt +
                            (count > 0 ? " (count " + std::to_string(count) + ")" : "") + ": " +
                            std::string(text, static_cast<std::size_t>(length)));
}

}  // namespace syncopate::detail
