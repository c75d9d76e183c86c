#pragma once

#include <array>
#include <vector>

#include "syncopate/communicators/mpi_options.hpp"

namespace support {

/// A way in which MPI can communicate for us.
struct mpi_way {
  const char* name;
  syncopate::mpi_options options;
};

/// Who makes the calls, times how sums travel. A chunk is 8 doubles, so that a ring goes round often for small sums.
inline const std::vector<mpi_way>& every_way() {
  using progress = syncopate::mpi_progress;
  using transport = syncopate::mpi_transport;
  constexpr std::size_t chunk_bytes = 64, large_bytes = 1000;
  constexpr double sleep = 100;
  static const std::vector<mpi_way> all{
      {"library on_poll", {progress::on_poll, transport::library, chunk_bytes, large_bytes, sleep}},
      {"ring on_poll", {progress::on_poll, transport::ring, chunk_bytes, large_bytes, sleep}},
      {"library on_thread", {progress::on_thread, transport::library, chunk_bytes, large_bytes, sleep}},
      {"ring on_thread", {progress::on_thread, transport::ring, chunk_bytes, large_bytes, sleep}},
      {"automatic", {progress::automatic, transport::automatic, chunk_bytes, large_bytes, sleep}}};
  return all;
}

}  // namespace support
