#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "scheme_list.hpp"

namespace fashion_mnist {

enum class transport { threads, mpi };
enum class schedule { constant, cosine };
enum class network_kind { mlp, cnn };
enum class growth { none, milestones, plateau, noise };

/// The modelled link over which one all-reduce of two ranks takes about 0.8 of the time that a step computes, on the
/// machine on which it was measured.
inline constexpr double default_link_gigabits = 4.0, default_link_latency_microseconds = 20;

/// The job, as the command line describes it.
struct options {
  std::vector<const scheme_description*> schemes;
  transport communicator = transport::threads;
  network_kind network = network_kind::mlp;
  int ranks = 2;
  int epochs = 5;
  std::size_t batch = 128;
  fashion_mnist::growth grow_batch = growth::none;
  std::size_t largest_batch = 0;  ///< that it grows to
  double learning_rate = 0.1, momentum = 0.9;
  fashion_mnist::schedule schedule = schedule::cosine;
  std::uint64_t seed = 1;
  std::optional<std::int64_t> delay, period;
  std::optional<std::string> predictor;
  /// Of the modelled link; without bandwidth there is none.
  std::optional<double> link_gigabits;
  double link_latency_microseconds = 0;
  std::filesystem::path data;
  std::optional<std::filesystem::path> json, checkpoint;
  std::int64_t checkpoint_steps = 0;  ///< between two checkpoints; 0: an epoch
  bool resume = false;
  double stall_limit_seconds = 60;
  std::size_t training_samples = 0, test_samples = 0;
};

/// Reads the command line; nothing where it asked for help, which is then printed (by the rank that `prints`).
/// `mpi_ranks` is the number of ranks that an MPI launcher started, if one did. Throws
/// `syncopate::configuration_error`.
std::optional<options> parse_options(int argc, char** argv, std::optional<int> mpi_ranks, bool prints);

/// The user's predictor, if the scheme has it, else its own default.
std::string_view predictor_of(const options& job, const scheme_description& scheme);

}  // namespace fashion_mnist
