#pragma once

#include <cstddef>
#include <string>

#include "../../communicators/mpi_options.hpp"

namespace syncopate::detail {

/// What the choice of progress and transport goes by; the same on all ranks.
struct mpi_facts {
  int ranks = 1;
  int hosts = 1;
  int ranks_per_host = 1;  ///< at most
  int cores_per_host = 1;  ///< at least
  bool threads = false;    ///< whether all ranks have MPI_THREAD_MULTIPLE
};

/// How a sum of some size is done, and why.
struct mpi_choice {
  mpi_progress progress;
  const char* why_progress;
  mpi_transport transport;
  const char* why_transport;

  bool on_thread() const { return progress == mpi_progress::on_thread; }
  bool ring() const { return transport == mpi_transport::ring; }
};

inline mpi_choice choose(const mpi_options& options, const mpi_facts& facts, std::size_t bytes) {
  mpi_choice choice{options.progress, "as it was asked for", options.transport, "as it was asked for"};
  const bool large = bytes >= options.large_bytes;

  const auto progress = [&](mpi_progress chosen, const char* why) {
    choice.progress = chosen;
    choice.why_progress = why;
  };
  if (options.progress == mpi_progress::automatic) {
    if (!facts.threads)
      progress(mpi_progress::on_poll, "since MPI was not initialised with MPI_THREAD_MULTIPLE");
    else if (!large)
      progress(mpi_progress::on_poll, "since waking a thread would take longer than so small a sum");
    else if (facts.hosts > 1)
      progress(mpi_progress::on_thread, "since between hosts there is little to do but to wait for the network");
    else if (facts.cores_per_host > facts.ranks_per_host)
      progress(mpi_progress::on_thread, "since there are more cores than ranks");
    else
      progress(mpi_progress::on_poll, "since within one host summing is work, and no core is free for it");
  }

  const auto transport = [&](mpi_transport chosen, const char* why) {
    choice.transport = chosen;
    choice.why_transport = why;
  };
  if (options.transport == mpi_transport::automatic) {
    if (facts.hosts == 1)
      transport(mpi_transport::library, "since within one host the library uses shared memory best");
    else if (!large)
      transport(mpi_transport::library, "since so small a sum is a matter of latency");
    else if (!choice.on_thread())
      transport(mpi_transport::library, "since it also progresses inside the user's own calls of MPI");
    else
      transport(mpi_transport::ring, "since it uses the network in both directions all the time");
  }
  return choice;
}

/// "progress on_thread, since …; transport ring, since …".
inline std::string text_of(const mpi_choice& choice) {
  return std::string("progress ") + (choice.on_thread() ? "on_thread" : "on_poll") + ", " + choice.why_progress +
         "; transport " + (choice.ring() ? "ring" : "library") + ", " + choice.why_transport;
}

}  // namespace syncopate::detail
