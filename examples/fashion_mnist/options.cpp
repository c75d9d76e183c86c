#include "options.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cmath>
#include <iostream>
#include <limits>
#include <sstream>
#include <string_view>

#include "syncopate/error.hpp"

namespace fashion_mnist {
namespace {

[[noreturn]] void refuse(const std::string& what) { throw syncopate::configuration_error("syncopate: " + what + "."); }

std::string join(const auto& names) {
  std::string joined;
  for (const auto& name : names) joined += (joined.empty() ? "" : ", ") + std::string(name);
  return joined;
}

std::vector<std::string_view> scheme_names() {
  std::vector<std::string_view> names;
  for (const auto& scheme : schemes) names.push_back(scheme.name);
  return names;
}

bool contains(const auto& names, std::string_view name) { return std::ranges::find(names, name) != names.end(); }

/// `number` if `least` ≤ number ≤ `most`. Options are read as signed or floating-point numbers first, so that a
/// negative one is refused and not wrapped round.
template <class T>
T within(const char* option, T number, T least, T most) {
  if (number >= least && number <= most) return number;  // false for NaN
  std::ostringstream text;
  text << option << " must be ";
  if (most == std::numeric_limits<T>::max())
    text << "at least " << least << " and finite";
  else
    text << "between " << least << " and " << most;
  text << ", not " << number;
  refuse(text.str());
}

std::string scheme_help() {
  std::string help = "which update scheme:";
  for (const auto& scheme : schemes) help += "\n" + std::string(scheme.name) + ": " + std::string(scheme.summary);
  return help + "\nall: one after the other";
}

/// Options that no chosen scheme has would silently do nothing: refuse them.
void check_against_schemes(const options& job, const std::string& name) {
  const auto some = [&](auto has) { return std::ranges::any_of(job.schemes, [&](auto* s) { return has(*s); }); };
  if (job.delay && !some([](auto& s) { return s.has_delay; })) refuse("scheme " + name + " has no --delay");
  if (job.period && !some([](auto& s) { return s.has_period; })) refuse("scheme " + name + " has no --period");
  if (job.predictor) {
    if (!contains(lookahead_predictors, *job.predictor) && !contains(committed_predictors, *job.predictor))
      refuse("unknown predictor " + *job.predictor + "; known are " + join(lookahead_predictors));
    if (!some([](auto& s) { return !s.predictors.empty(); })) refuse("scheme " + name + " has no --predictor");
    if (!some([&](auto& s) { return contains(s.predictors, *job.predictor); }))
      refuse("scheme " + name + " cannot use the predictor " + *job.predictor + "; it can use " +
             join(job.schemes.front()->predictors));
  }
  if (job.grow_batch == growth::noise && some([](auto& s) { return s.averages_weights; }))
    refuse("--grow-batch noise needs gradients that are averaged; dasgd and local-sgd average weights");
  const std::int64_t delay = job.delay.value_or(default_delay), period = job.period.value_or(default_period);
  if (delay > period && some([](auto& s) { return s.has_delay && s.has_period; }))
    refuse("dasgd needs a --delay no longer than its --period, but they are " + std::to_string(delay) + " and " +
           std::to_string(period));
}

}  // namespace

std::string_view predictor_of(const options& job, const scheme_description& scheme) {
  if (job.predictor && contains(scheme.predictors, *job.predictor)) return *job.predictor;
  return scheme.predictors.empty() ? "" : scheme.predictors.front();
}

std::optional<options> parse_options(int argc, char** argv, std::optional<int> mpi_ranks, bool prints) {
  constexpr std::int64_t most_ranks = 1024, most_int = std::numeric_limits<int>::max();
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  constexpr double any = std::numeric_limits<double>::max();

  options job;
  std::string scheme = "all", communicator = mpi_ranks ? "mpi" : "threads", rate_schedule = "cosine";
  std::string grow_batch = "none", network_name = "mlp";
  std::int64_t largest_batch = 0;
  std::int64_t ranks = mpi_ranks.value_or(2), epochs = 5, batch = 128, seed = 1, training = 0, test = 0;
  double gigabits = default_link_gigabits, latency = default_link_latency_microseconds;
  job.data = SYNCOPATE_EXAMPLE_DATA;

  CLI::App app(
      "Trains a network on Fashion-MNIST, data-parallel, and measures how much of the communication "
      "each "
      "update scheme hides.");
  app.option_defaults()->always_capture_default();
  app.add_option("--scheme", scheme, scheme_help());
  app.add_option("--network", network_name,
                 "mlp (784-256-128-10) or cnn (two convolutions, two fully connected layers)");
  app.add_option("--communicator", communicator, "threads (of this process) or mpi (the default under mpirun)");
  auto* ranks_option = app.add_option("--ranks", ranks, "number of ranks; under mpirun it comes from there");
  app.add_option("--epochs", epochs, "passes over the training set");
  app.add_option("--batch", batch, "samples in each rank's mini-batch");
  app.add_option("--grow-batch", grow_batch,
                 "double the batch, and the learning rate by the square root of that, while training: milestones "
                 "(after a third and two thirds of "
                 "it), plateau (of the loss), noise (scale of the gradient), none");
  auto* largest_option =
      app.add_option("--largest-batch", largest_batch, "that it grows to; default: 8 times the first");
  app.add_option("--learning-rate", job.learning_rate, "of all schemes, where its schedule starts");
  app.add_option("--momentum", job.momentum, "of all schemes");
  app.add_option("--schedule", rate_schedule, "of the learning rate: constant, or cosine over all steps down to 0");
  app.add_option("--seed", seed, "of the initial weights and of the order of samples");
  app.add_option("--delay", job.delay,
                 "steps between sending and using (pseudo-synchronous, lookahead, dasgd); default 1");
  app.add_option(
      "--period", job.period,
      "steps between averages of weights (dasgd, local-sgd), at most so many between those of gradients (lazy); "
      "default 4");
  app.add_option("--predictor", job.predictor,
                 "of the gradient in flight; pseudo-synchronous: " + join(committed_predictors) +
                     "; lookahead also: local-gradient (its default), blended-gradient");
  auto* gigabits_option = app.add_option(
      "--link-gbit", gigabits, "threads: bandwidth in Gbit/s of the modelled link between ranks; 0: as fast as memory");
  auto* latency_option =
      app.add_option("--link-latency-us", latency, "threads: latency in microseconds of the modelled link");
  app.add_option("--data", job.data, "directory of the four gzip-compressed IDX files");
  app.add_option("--json", job.json, "file to write the results to, one object for each scheme");
  app.add_option("--checkpoint", job.checkpoint, "file to save training to; needs a single scheme");
  app.add_option("--checkpoint-steps", job.checkpoint_steps, "steps between two checkpoints; 0: an epoch");
  app.add_flag("--resume", job.resume, "go on from the checkpoint, if there is one");
  app.add_option("--stall-limit", job.stall_limit_seconds, "seconds without progress that are an error; 0: none are");
  app.add_option("--train-samples", training, "use only the first so many training images; 0: all");
  app.add_option("--test-samples", test, "use only the first so many test images; 0: all");

  app.footer(
      "\nEach epoch shuffles the training set; samples at its end that do not fill a mini-batch on every rank are left "
      "out.\nThe modelled link defaults to one on which an all-reduce between 2 ranks takes about 0.8 of a step's "
      "computation.\nBLAS must use one thread per rank: OpenBLAS is told so; others need their environment variable.");

  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    if (prints) std::cout << app.help();
    return std::nullopt;
  } catch (const CLI::ParseError& error) {
    refuse(std::string(error.what()) + " (see --help)");
  }

  if (scheme == "all") {
    for (const auto& known : schemes) job.schemes.push_back(&known);
  } else if (const auto* known = find_scheme(scheme)) {
    job.schemes.push_back(known);
  } else {
    refuse("unknown scheme " + scheme + "; known are " + join(scheme_names()) + ", all");
  }

  if (communicator == "mpi")
    job.communicator = transport::mpi;
  else if (communicator != "threads")
    refuse("unknown communicator " + communicator + "; known are threads, mpi");
#ifndef SYNCOPATE_EXAMPLE_MPI
  if (job.communicator == transport::mpi)
    refuse("this program was built without Boost.MPI, so it has no communicator mpi");
#endif
  const int launched = mpi_ranks.value_or(1);
  if (job.communicator == transport::threads && launched > 1)
    refuse("--communicator threads under mpirun would run the whole job " + std::to_string(launched) + " times");
  if (job.communicator == transport::mpi) {
    if (!*ranks_option) ranks = launched;
    if (ranks != launched)
      refuse("--ranks " + std::to_string(ranks) + " contradicts the " + std::to_string(launched) +
             " ranks that MPI started");
    if (*gigabits_option || *latency_option) refuse("the modelled link exists only with --communicator threads");
  }

  job.ranks = static_cast<int>(within<std::int64_t>("--ranks", ranks, 1, most_ranks));
  job.epochs = static_cast<int>(within<std::int64_t>("--epochs", epochs, 1, most_int));
  job.batch = static_cast<std::size_t>(within<std::int64_t>("--batch", batch, 1, 60000));
  if (network_name == "cnn")
    job.network = network_kind::cnn;
  else if (network_name != "mlp")
    refuse("unknown network " + network_name + "; known are mlp, cnn");
  const std::array<std::string_view, 4> growths{"none", "milestones", "plateau", "noise"};
  if (!contains(growths, grow_batch)) refuse("unknown growth " + grow_batch + "; known are " + join(growths));
  job.grow_batch = static_cast<growth>(std::ranges::find(growths, grow_batch) - growths.begin());
  if (*largest_option && job.grow_batch == growth::none) refuse("--largest-batch needs a --grow-batch");
  job.largest_batch = static_cast<std::size_t>(
      within<std::int64_t>("--largest-batch", *largest_option ? largest_batch : 8 * batch, batch, most_int));
  job.seed = static_cast<std::uint64_t>(within<std::int64_t>("--seed", seed, 0, most));
  job.training_samples = static_cast<std::size_t>(within<std::int64_t>("--train-samples", training, 0, most));
  job.test_samples = static_cast<std::size_t>(within<std::int64_t>("--test-samples", test, 0, most));
  within("--learning-rate", job.learning_rate, 0.0, any);
  if (!(job.momentum >= 0 && job.momentum < 1))
    refuse("--momentum must be at least 0 and below 1, not " + std::to_string(job.momentum));
  if (job.delay) within<std::int64_t>("--delay", *job.delay, 0, most_int);
  if (job.period) within<std::int64_t>("--period", *job.period, 1, most_int);
  within("--link-gbit", gigabits, 0.0, any);
  job.link_latency_microseconds = within("--link-latency-us", latency, 0.0, any);
  if (gigabits > 0) job.link_gigabits = gigabits;
  if (gigabits == 0 && *latency_option) refuse("--link-latency-us needs a modelled link, but --link-gbit is 0");

  within("--stall-limit", job.stall_limit_seconds, 0.0, any);
  within<std::int64_t>("--checkpoint-steps", job.checkpoint_steps, 0, most);
  if (job.checkpoint && job.schemes.size() > 1) refuse("--checkpoint needs a --scheme: it holds one");
  if (!job.checkpoint && (job.resume || job.checkpoint_steps > 0))
    refuse("--resume and --checkpoint-steps need a --checkpoint");

  if (rate_schedule == "constant")
    job.schedule = schedule::constant;
  else if (rate_schedule != "cosine")
    refuse("unknown schedule " + rate_schedule + "; known are constant, cosine");
  check_against_schemes(job, scheme);
  return job;
}

}  // namespace fashion_mnist
