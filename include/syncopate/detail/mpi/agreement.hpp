#pragma once

#include <mpi.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "../../communicators/mpi_options.hpp"
#include "../../error.hpp"
#include "../by_rank.hpp"
#include "check.hpp"
#include "choice.hpp"
#include "machine.hpp"

/// What the ranks of a `boost_mpi` tell each other once, when it is made.
namespace syncopate::detail {

/// What one rank says of itself.
struct mpi_rank_facts {
  mpi_options options{};
  int channel = 0;  ///< a number for the channel that is being made
  int thread_level = MPI_THREAD_SINGLE;
  int is_main_thread = 1;
  int rank_on_host = 0, ranks_on_host = 1;
  int cores = 1;
};

inline std::string text_of(const mpi_options& options) {
  const auto progress = static_cast<std::size_t>(options.progress),
             transport = static_cast<std::size_t>(options.transport);
  constexpr std::array progress_names{"automatic", "on_poll", "on_thread"},
      transport_names{"automatic", "library", "ring"};
  return std::string("progress ") + progress_names.at(progress) + ", transport " + transport_names.at(transport) +
         ", chunk_bytes " + std::to_string(options.chunk_bytes) + ", large_bytes " +
         std::to_string(options.large_bytes) + ", largest_count " + std::to_string(options.largest_count) +
         ", longest_sleep_microseconds " + std::to_string(options.longest_sleep_microseconds) +
         ", stall_limit_seconds " + std::to_string(options.stall_limit_seconds);
}

inline const char* text_of_thread_level(int level) {
  switch (level) {
    case MPI_THREAD_SINGLE:
      return "MPI_THREAD_SINGLE";
    case MPI_THREAD_FUNNELED:
      return "MPI_THREAD_FUNNELED";
    case MPI_THREAD_SERIALIZED:
      return "MPI_THREAD_SERIALIZED";
    default:
      return "MPI_THREAD_MULTIPLE";
  }
}

inline mpi_rank_facts facts_of_rank(MPI_Comm communicator, const mpi_options& options) {
  mpi_rank_facts facts{.options = options, .cores = cores_of_machine()};
  check_mpi(MPI_Query_thread(&facts.thread_level), "ask for the thread level");
  check_mpi(MPI_Is_thread_main(&facts.is_main_thread), "ask for the main thread");
  MPI_Comm host = MPI_COMM_NULL;
  check_mpi(MPI_Comm_split_type(communicator, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host),
            "find the ranks of a host");
  MPI_Comm_rank(host, &facts.rank_on_host);
  MPI_Comm_size(host, &facts.ranks_on_host);
  check_mpi(MPI_Comm_free(&host), "free a communicator");
  return facts;
}

/// What follows from what ranks say of themselves. Throws, the same on all of them, `configuration_error` if their
/// options or thread levels cannot serve.
inline mpi_facts facts_of_ranks(std::span<const mpi_rank_facts> all) {
  const int ranks = static_cast<int>(all.size());
  const auto of = [&](int rank) -> const mpi_rank_facts& { return all[static_cast<std::size_t>(rank)]; };
  for (const mpi_rank_facts& rank : all) rank.options.validate();
  const mpi_options& options = all[0].options;
  if (std::ranges::any_of(all, [&](const auto& rank) { return rank.options != options; }))
    throw configuration_error("syncopate: ranks were given different mpi_options: " +
                              by_rank(ranks, [&](int rank) { return text_of(of(rank).options); }));

  const auto lowest = std::ranges::min(all, {}, &mpi_rank_facts::thread_level).thread_level;
  const auto levels = [&] {
    return by_rank(ranks, [&](int rank) { return text_of_thread_level(of(rank).thread_level); });
  };
  if (options.progress == mpi_progress::on_thread && lowest < MPI_THREAD_MULTIPLE)
    throw configuration_error(
        "syncopate: progress on_thread calls MPI from a thread of its own, but MPI was not initialised for that; ask "
        "for it with boost::mpi::environment(argc, argv, boost::mpi::threading::multiple) (" +
        levels() + ")");
  const auto misplaced = [](const auto& rank) {
    return !rank.is_main_thread && rank.thread_level < MPI_THREAD_SERIALIZED;
  };
  if (std::ranges::any_of(all, misplaced))
    throw configuration_error(
        "syncopate: boost_mpi was made by another thread than the main one, but MPI was not initialised for that; ask "
        "for it with boost::mpi::environment(argc, argv, boost::mpi::threading::serialized) (" +
        levels() + ")");

  mpi_facts facts{.ranks = ranks, .threads = lowest == MPI_THREAD_MULTIPLE};
  facts.hosts = static_cast<int>(std::ranges::count(all, 0, &mpi_rank_facts::rank_on_host));
  facts.ranks_per_host = std::ranges::max(all, {}, &mpi_rank_facts::ranks_on_host).ranks_on_host;
  facts.cores_per_host = std::ranges::min(all, {}, &mpi_rank_facts::cores).cores;
  return facts;
}

}  // namespace syncopate::detail
