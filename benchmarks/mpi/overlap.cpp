/// How much communication hides behind computation, by scheme, progress and transport. Run it under mpirun; on one
/// machine with a network between ranks: benchmarks/two_hosts.sh --rate 200mbit -- overlap
///
/// Computation is a fixed amount of work, in slices with a `poll` after each, like layers. Its amount is found once, so
/// that it takes `--compute-ratio` times an all-reduce. Times are medians over repetitions of the slowest rank's,
/// processor times the mean over ranks.
#include <mpi.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <boost/mpi/environment.hpp>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <syncopate/communicators/boost_mpi.hpp>
#include <syncopate/syncopate.hpp>
#include <utility>
#include <vector>

namespace {

using syncopate::mpi_options;
using syncopate::mpi_progress;
using syncopate::mpi_transport;

struct job {
  double megabytes = 16, compute_ratio = 1.3;
  int repetitions = 9, slices = 100;
  std::string only, json;
};

/// One line of the result.
struct figures {
  double wall = 0, processor = 0;  ///< milliseconds per step
};

struct way {
  std::string progress, transport;
  mpi_options options;
};

const std::vector<way>& ways() {
  static const std::vector<way> all{
      {"on_thread", "ring", {.progress = mpi_progress::on_thread, .transport = mpi_transport::ring}},
      {"on_thread", "library", {.progress = mpi_progress::on_thread, .transport = mpi_transport::library}},
      {"on_poll", "ring", {.progress = mpi_progress::on_poll, .transport = mpi_transport::ring}},
      {"on_poll", "library", {.progress = mpi_progress::on_poll, .transport = mpi_transport::library}},
      {"automatic", "automatic", {}}};
  return all;
}

double milliseconds_of_processor() {
  std::timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return 1e3 * static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_nsec);
}

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

double over_ranks(double value, MPI_Op operation) {
  MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_DOUBLE, operation, MPI_COMM_WORLD);
  return value;
}

/// Times actions in turns, so that all of them see the same moods of the machine. Each goes first once untimed, since
/// messages of the one before may still be in flight; then all ranks start together.
template <std::size_t N>
std::array<figures, N> measure(int repetitions, const std::array<std::function<void()>, N>& actions) {
  int ranks = 1;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  std::array<std::vector<double>, N> wall, processor;
  for (int i = 0; i < repetitions; ++i)
    for (std::size_t n = 0; n < N; ++n) {
      actions[n]();
      MPI_Barrier(MPI_COMM_WORLD);
      const double begin = MPI_Wtime(), used_before = milliseconds_of_processor();
      actions[n]();
      const double took = 1e3 * (MPI_Wtime() - begin), used = milliseconds_of_processor() - used_before;
      wall[n].push_back(over_ranks(took, MPI_MAX));
      processor[n].push_back(over_ranks(used, MPI_SUM) / ranks);
    }
  std::array<figures, N> medians;
  for (std::size_t n = 0; n < N; ++n) medians[n] = {median(wall[n]), median(processor[n])};
  return medians;
}

/// Work that only the processor limits: additions and multiplications in the first-level cache.
class workload {
 public:
  /// Not inlined, so that it is the same code everywhere.
  [[gnu::noinline]] void slice(double rounds) {
    for (double r = 0; r < rounds; ++r) {
      for (float& x : numbers_) x = x * 0.999f + 0.001f;
      asm volatile("" : : "r"(numbers_.data()) : "memory");
    }
  }

 private:
  std::array<float, 1024> numbers_{};
};

class report {
 public:
  report(bool prints, std::size_t bytes, int ranks) : prints_(prints), bytes_(bytes), ranks_(ranks) {
    if (prints_)
      std::printf("%-42s %10s %10s %10s %10s %8s %8s\n", "", "wall ms", "cpu ms", "compute", "all-reduce", "hidden",
                  "÷ limit");
  }

  /// `compute` and `all_reduce`: what each takes alone; zero where it is not part of the case.
  void add(const std::string& name, const std::string& scheme, const way& how, figures measured, double compute,
           double all_reduce) {
    const double limit = std::max(compute, all_reduce);
    const bool both = compute > 0 && all_reduce > 0;
    const double hidden = both ? (compute + all_reduce - measured.wall) / all_reduce : 0;
    if (prints_) {
      std::printf("%-42s %10.2f %10.2f %10.2f %10.2f ", name.c_str(), measured.wall, measured.processor, compute,
                  all_reduce);
      both ? std::printf("%6.1f %% %8.3f\n", 100 * hidden, measured.wall / limit) : std::printf("\n");
      std::fflush(stdout);
    }
    lines_.push_back({{"name", name},
                      {"scheme", scheme},
                      {"progress", how.progress},
                      {"transport", how.transport},
                      {"bytes", bytes_},
                      {"ranks", ranks_},
                      {"wall_ms", measured.wall},
                      {"cpu_ms", measured.processor},
                      {"compute_ms", compute},
                      {"all_reduce_ms", all_reduce},
                      {"hidden_fraction", hidden},
                      {"ratio_to_limit", limit > 0 ? measured.wall / limit : 1}});
  }

  /// Adds to the last line how long it takes next to the same written by hand.
  void compare(double in_place, double packed) {
    if (prints_)
      std::printf("  ÷ compute, MPI_Allreduce, fused update by hand: %.3f in place, %.3f packed\n", in_place, packed);
    lines_.back()["ratio_to_by_hand_in_place"] = in_place;
    lines_.back()["ratio_to_by_hand_packed"] = packed;
  }

  void write(const std::string& file) const {
    if (!prints_ || file.empty()) return;
    std::ofstream out(file);
    out << lines_.dump(2) << '\n';
    if (!out.flush()) throw syncopate::error("syncopate: cannot write " + file);
  }

 private:
  bool prints_;
  std::size_t bytes_;
  int ranks_;
  nlohmann::json lines_ = nlohmann::json::array();
};

void run(const job& wanted) {
  int rank = 0, ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const auto count = static_cast<std::size_t>(std::llround(wanted.megabytes * (1 << 20) / sizeof(float)));
  std::vector<float> weights(count, 1), gradients(count, 1e-6F);
  report out(rank == 0, count * sizeof(float), ranks);
  const auto selected = [&](const std::string& name) { return name.find(wanted.only) != std::string::npos; };

  // All-reduce alone.
  const way bare{"blocking", "library", {}};
  std::vector<float> sum(count);
  const auto all_reduce = [&] {
    MPI_Allreduce(MPI_IN_PLACE, sum.data(), static_cast<int>(count), MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
  };
  const figures library_alone = measure<1>(wanted.repetitions, {all_reduce})[0];
  out.add("all-reduce alone: MPI_Allreduce", "none", bare, library_alone, 0, library_alone.wall);
  std::vector<double> alone;
  for (const way& how : ways()) {
    syncopate::boost_mpi communicator({}, how.options);
    const figures one = measure<1>(wanted.repetitions, {[&] { communicator.start_sum(std::span(sum)).wait(); }})[0];
    out.add("all-reduce alone: " + how.progress + " " + how.transport, "none", how, one, 0, one.wall);
    alone.push_back(one.wall);
    if (how.progress == "automatic" && rank == 0)
      std::printf("  automatic: %s\n", communicator.explain(count * sizeof(float)).c_str());
  }

  // Computation: as much for all ranks, and so much that the slowest one takes the wanted time.
  workload load;
  double rounds = 100;
  const auto compute = [&](auto poll) {
    for (int slice = 0; slice < wanted.slices; ++slice) {
      load.slice(rounds);
      poll();
    }
  };
  const double wanted_time = wanted.compute_ratio * std::min(library_alone.wall, std::ranges::min(alone));
  for (int i = 0; i < 3; ++i) rounds *= wanted_time / measure<1>(5, {[&] { compute([] {}); }})[0].wall;

  // What the synchronous scheme replaces: in place of the gradient, which then must be one tensor of its own, or packed
  // into a message first.
  std::vector<float> weights_by_hand = weights, velocity(count);
  const auto step_by_hand = [&](bool packs) {
    compute([] {});
    if (packs) std::ranges::copy(gradients, sum.begin());
    all_reduce();
    for (std::size_t i = 0; i < count; ++i) {
      velocity[i] = 0.9F * velocity[i] + sum[i] / static_cast<float>(ranks);
      weights_by_hand[i] -= 1e-3F * velocity[i];
    }
  };
  const figures compute_alone = measure<1>(wanted.repetitions, {[&] { compute([] {}); }})[0];
  out.add("compute alone", "none", {"none", "none", {}}, compute_alone, compute_alone.wall, 0);
  const auto by_hand = [&](const std::string& name, const way& how, const std::function<void()>& action) {
    const auto [alone_now, took] = measure<2>(wanted.repetitions, {[&] { compute([] {}); }, action});
    out.add(name, "none", how, took, alone_now.wall, library_alone.wall);
  };
  by_hand("in sequence: compute, MPI_Allreduce", bare, [&] {
    compute([] {});
    all_reduce();
  });
  by_hand("MPI_Iallreduce, compute, MPI_Wait", {"none", "library", {}}, [&] {
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Iallreduce(MPI_IN_PLACE, sum.data(), static_cast<int>(count), MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD, &request);
    compute([] {});
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  });

  // Schemes. What they compute alone is found with the same scheme on a communicator of one rank. `period` steps have
  // one message.
  const auto scheme = [&](const std::string& name, int period, auto make) {
    if (!selected(name)) return;
    auto weights_alone = weights;
    auto alone_here = make(weights_alone, syncopate::loopback{});
    const auto steps = [&](auto& made, auto& model) {
      for (int i = 0; i < period; ++i) {
        compute([&] { made.poll(); });
        made.step(model, gradients);
      }
    };
    for (std::size_t w = 0; w < ways().size(); ++w) {
      const way& how = ways()[w];
      auto made = make(weights, syncopate::boost_mpi({}, how.options));
      const std::function<void()> alone_steps = [&] { steps(alone_here, weights_alone); };
      const std::function<void()> made_steps = [&] { steps(made, weights); };
      figures computed, took, in_place, packed;
      if (name == "synchronous")
        std::tie(computed, took, in_place, packed) = std::tuple_cat(measure<4>(
            wanted.repetitions, {alone_steps, made_steps, [&] { step_by_hand(false); }, [&] { step_by_hand(true); }}));
      else
        std::tie(computed, took) = std::tuple_cat(measure<2>(wanted.repetitions, {alone_steps, made_steps}));
      made.finish(weights);
      for (figures* f : {&computed, &took}) *f = {f->wall / period, f->processor / period};
      out.add(name + ", " + how.progress + " " + how.transport, name, how, took, computed.wall, alone[w] / period);
      if (name == "synchronous") out.compare(took.wall / in_place.wall, took.wall / packed.wall);
    }
  };
  const syncopate::sgd rule{.learning_rate = 1e-3, .momentum = 0.9};
  scheme("synchronous", 1, [&](auto& w, auto c) { return syncopate::synchronous_sgd(w, c, rule); });
  scheme("pseudo-synchronous", 1, [&](auto& w, auto c) { return syncopate::pseudo_synchronous_sgd(w, c, rule); });
  scheme("lookahead", 1, [&](auto& w, auto c) { return syncopate::lookahead_sgd(w, c, rule); });
  scheme("od-sgd", 1, [&](auto& w, auto c) { return syncopate::od_sgd(w, c, rule, 1); });
  scheme("dasgd", 2, [&](auto& w, auto c) { return syncopate::dasgd(w, c, rule, {.period = 2, .delay = 1}); });
  out.write(wanted.json);
}

}  // namespace

int main(int argc, char** argv) {
  const boost::mpi::environment environment(argc, argv, boost::mpi::threading::multiple);
  job wanted;
  CLI::App options("How much communication hides behind computation, by scheme, progress and transport.");
  options.add_option("--megabytes", wanted.megabytes, "size of the model, in MiB of float")
      ->check(CLI::Range(1e-3, 1e4));
  options.add_option("--compute-ratio", wanted.compute_ratio, "computation of a step, in times of an all-reduce")
      ->check(CLI::Range(0., 1e3));
  options.add_option("--repetitions", wanted.repetitions, "of which the median is taken")->check(CLI::Range(1, 10000));
  options.add_option("--slices", wanted.slices, "of a step's computation, with a poll after each")
      ->check(CLI::Range(1, 1000000));
  options.add_option("--only", wanted.only, "only schemes whose name contains this");
  options.add_option("--json", wanted.json, "writes the table to this file as well");
  CLI11_PARSE(options, argc, argv);
  run(wanted);
}
