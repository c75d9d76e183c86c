// Every scheme trains to the bits that were recorded in recorded.txt, on every communicator: what is rebuilt shall
// train as before.
//
// Numbers that are meant to change need a new table, written by the program that has all numbers of ranks:
//
//     SYNCOPATE_RECORD=tests/laws/recorded.txt build/tests/test_laws "[recorded]"
//
// It then compares nothing, and fails, so that nobody takes it for a test. What changed is what git diff shows: a line
// for each training.
#include <algorithm>
#include <array>
#include <bit>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <iomanip>
#include <limits>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "../support/every_scheme.hpp"
#include "../support/training.hpp"
#include "syncopate/averaging/local_rule_averaging.hpp"
#include "syncopate/error.hpp"
#include "syncopate/merges/replace.hpp"
#include "syncopate/predictors/exponential_smoothing.hpp"
#include "syncopate/predictors/gain_laws/cosine_gate.hpp"
#include "syncopate/predictors/gain_laws/fixed_gain.hpp"

namespace {

using namespace support;
using namespace syncopate;

/// FNV-1a over the bits of numbers.
class fingerprint {
 public:
  void add(std::uint64_t word) {
    for (int byte = 0; byte < 8; ++byte) value_ = (value_ ^ (word >> (8 * byte) & 0xff)) * 1099511628211u;
  }
  /// All NaN are one: which of two comes out of a sum is the compiler's choice.
  void add(double number) {
    add(std::bit_cast<std::uint64_t>(std::isnan(number) ? std::numeric_limits<double>::quiet_NaN() : number));
  }
  template <class W>
  void add_weights(const W& weights) {
    for_each_tensor(weights, [&](auto elements) {
      for (const auto x : elements) add(static_cast<double>(x));
    });
  }
  std::uint64_t value() const { return value_; }

 private:
  std::uint64_t value_ = 14695981039346656037u;
};

// What ranks train with.

constexpr int most_steps = 11;

/// Multiplied by 1, 2, 4, 1, …, step by step, so that a norm may be exceeded at some steps and not at others.
training_data of_changing_size(training_data data) {
  for (auto& of_rank : data.gradients)
    for (std::size_t step = 0; step < of_rank.size(); ++step)
      for (double& x : of_rank[step]) x *= 1 << step % 3;
  return data;
}

/// One or two samples, a power of two on all ranks together, and numbers of few bits: means of weights that have moved
/// by powers of two are exact as well.
training_data data_of_few_bits(int ranks) {
  std::vector<double> samples = even(ranks);
  const auto more = std::bit_ceil(samples.size()) - samples.size();
  std::fill(samples.end() - static_cast<std::ptrdiff_t>(more), samples.end(), 2.0);
  return make_data(
      awkward_sizes, most_steps, samples, [](std::size_t i) { return (scrambled(7, 7, i) % 17 - 8.0) / 4; },
      [](std::size_t rank, std::size_t step, std::size_t i) { return scrambled(rank, step, i) % 9 - 4.0; });
}

/// Whether the sums of a training are the same in every order. Those of two ranks are: they train with rough numbers.
enum class sums {
  of_integers,  ///< with more ranks, gradients are integers
  of_few_bits,  ///< with more ranks, weights and gradients have few bits
  rounded       ///< with more ranks, they are not: MPI, which has an order of its own, is left out
};

struct data_sets {
  training_data rough, integers, few_bits;

  explicit data_sets(int ranks)
      : rough(of_changing_size(rough_data(awkward_sizes, most_steps, uneven(ranks)))),
        integers(of_changing_size(exact_data(awkward_sizes, most_steps, uneven(ranks)))),
        few_bits(data_of_few_bits(ranks)) {}

  const training_data& of(sums kind) const {
    if (rough.ranks() <= 2 || kind == sums::rounded) return rough;
    return kind == sums::of_integers ? integers : few_bits;
  }
};

/// A bound that the norm of the mean exceeds at some steps and not at others.
double norm_between(const training_data& data) {
  double squares = 0;
  for (std::size_t i = 0; i < data.start.size(); ++i) {
    double sum = 0;
    for (std::size_t rank = 0; rank < data.samples.size(); ++rank)
      sum += data.samples[rank] * data.gradients[rank][0][i];
    squares += sum * sum;
  }
  return std::ceil(1.5 * std::sqrt(squares) / data.total_samples());
}

// Trainings.

/// What happens on the way.
enum class course {
  plain,
  agreement,      ///< gradients have a direction in common
  no_samples,     ///< now and then a rank has none, and at one step no rank has any
  layer_missing,  ///< a layer has no gradient at every other step
  uneven_steps,   ///< ranks have different numbers of mini-batches, in two epochs
  not_finite      ///< the last rank has a NaN at one step, the first an infinity at another
};

template <class W>
struct training {
  std::string name;
  maker<W> make;
  sums kind = sums::of_integers;
  course how = course::plain;
  bool watched = false;  ///< whether more is recorded than the weights
};

constexpr std::size_t missing_layer = 2;             // of awkward_sizes
constexpr int missing_first = 1, missing_last = 16;  // its elements

int steps_of(course how, int rank, int epoch) {
  const int uneven_steps[] = {10, 11, 9};
  return how == course::uneven_steps ? uneven_steps[(rank + epoch) % 3] : 9;
}

double samples_of(course how, const training_data& data, int rank, int step) {
  if (how == course::no_samples && (step == 5 || (rank + step) % 3 == 1)) return 0;
  return data.samples[static_cast<std::size_t>(rank)];
}

bool is_missing(course how, int step) { return how == course::layer_missing && step % 2 == 1; }

std::vector<double> gradient_of(course how, const training_data& data, int rank, int step) {
  auto values = data.gradients[static_cast<std::size_t>(rank)][static_cast<std::size_t>(step)];
  if (how == course::agreement)
    for (std::size_t i = 0; i < values.size(); ++i) values[i] += data.gradients[static_cast<std::size_t>(rank)][0][i];
  if (is_missing(how, step)) std::fill(values.begin() + missing_first, values.begin() + missing_last, 0.0);
  if (how == course::not_finite && step == 3 && rank == data.ranks() - 1)
    values[5] = std::numeric_limits<double>::quiet_NaN();
  if (how == course::not_finite && step == 6 && rank == 0) values[700] = std::numeric_limits<double>::infinity();
  return values;
}

/// The doubles of a model with both are the other way round.
template <class W>
W made_of(const training_data& data, const std::vector<double>& values) {
  if constexpr (std::is_same_v<W, mixed_model>)
    return {model_of<float>(data, values), model_of<double>(data, {values.rbegin(), values.rend()})};
  else
    return model_of<typename W::value_type::value_type>(data, values);
}

/// What is recorded of a training, each as a fingerprint of what all ranks have noted: weights after each step and
/// after `finish`; and, where it is watched, what else can be seen after each step.
const std::array<std::string, 5> aspects{"", ", consensus", ", checksum", ", counts", ", signal"};
using fingerprints = std::array<fingerprint, aspects.size()>;

/// How steps are made.
enum class way {
  whole_model,
  watched,  ///< the same, and much is asked for in between
  layer_by_layer
};

template <class W>
void watch(any_scheme<W>& scheme, const W& weights, W& out, fingerprints& noted) {
  auto& [of_weights, of_consensus, of_checksum, of_counts, of_signal] = noted;
  scheme.consensus(weights, out);
  of_consensus.add_weights(out);
  of_checksum.add(scheme.checksum(weights));
  const auto taken = scheme.statistics();
  for (const std::int64_t count : {taken.steps, taken.launched, taken.absorbed, taken.skipped})
    of_counts.add(static_cast<std::uint64_t>(count));
  const training_signal& signal = scheme.signal();
  of_signal.add(static_cast<std::uint64_t>(signal.step));
  of_signal.add(static_cast<std::uint64_t>(signal.ranks));
  for (const double number : {signal.samples, signal.loss, signal.square_of_mean, signal.mean_of_squares,
                              signal.latest_squares, signal.earlier_squares})
    of_signal.add(number);
}

template <class W>
fingerprints trained(const rank_group& ranks, const training_data& data, const training<W>& what, way by) {
  const auto of_ranks = ranks.run([&](any_communicator communicator) {
    const int rank = communicator.rank();
    W weights = made_of<W>(data, data.start), out = weights;
    std::size_t layers = 0;
    for_each_layer(weights, [&](const auto&) { ++layers; });
    fingerprints noted;
    auto scheme = what.make(weights, std::move(communicator));
    const auto tried = [&](auto work) {
      try {
        work();
      } catch (const non_finite_error&) {
        noted[0].add(std::uint64_t{1});
      }
    };
    for (int epoch = 0; epoch < (what.how == course::uneven_steps ? 2 : 1); ++epoch) {
      if (epoch > 0) scheme.join(weights);
      for (int step = 0; step < steps_of(what.how, rank, epoch); ++step) {
        W gradients = made_of<W>(data, gradient_of(what.how, data, rank, step));
        const double samples = samples_of(what.how, data, rank, step);
        scheme.note_loss((rank + step) / 4.0);
        if (by == way::layer_by_layer) {
          tried([&] { scheme.begin_step(weights, samples); });
          for (std::size_t layer = layers; layer-- > 0;) {
            if (!is_missing(what.how, step) || layer != missing_layer) scheme.gradient_ready(layer, gradients);
            if (step % 2 == 0) scheme.poll();
          }
          tried([&] { scheme.end_step(); });
          for (std::size_t layer = 0; layer < layers; ++layer) tried([&] { scheme.before_forward(layer); });
        } else {
          tried([&] { scheme.step(weights, gradients, samples); });
        }
        for_each_tensor(gradients, [](auto elements) {  // it is the user's again
          for (auto& x : elements) x = std::numeric_limits<std::decay_t<decltype(x)>>::quiet_NaN();
        });
        noted[0].add_weights(weights);
        if (by == way::watched) watch(scheme, weights, out, noted);
      }
    }
    tried([&] { scheme.finish(weights); });
    noted[0].add_weights(weights);
    record halves;
    for (const fingerprint& one : noted)
      for (const std::uint64_t half : {one.value() >> 32, one.value() & 0xffffffff})
        halves.push_back(static_cast<double>(half));
    return halves;
  });
  fingerprints of_all;
  for (const record& halves : of_ranks)
    for (std::size_t i = 0; i < halves.size(); ++i) of_all[i / 2].add(halves[i]);
  return of_all;
}

// What is trained.

const sgd rough_rule{.learning_rate = 0.1, .momentum = 0.9};
const sgd nesterov{.learning_rate = 0.1, .momentum = 0.9, .weight_decay = 0.01, .nesterov = true};
const sgd dampened{.learning_rate = 0.1, .momentum = 0.9, .dampening = 0.1, .weight_decay = 0.01};
const adamw adam{0.1, 0.5, 0.75, 0.0009765625, 0.125};  // powers of the betas are exact, whoever computes them

template <class W>
using trainings = std::vector<training<W>>;

bool sends_weights(const std::string& scheme) {
  return scheme == "dasgd" || scheme == "local_sgd" || scheme == "delta merge" || scheme == "weights";
}

/// Schemes of each kind, and what may happen to them.
template <class W>
void add_every_scheme(trainings<W>& to) {
  for (const auto& [name, make] : every_scheme<W>()) {
    const sums kind = sends_weights(name) ? sums::rounded : sums::of_integers;
    to.push_back({name, make, kind, course::plain, true});
    to.push_back({name + ", now and then no samples", make, kind, course::no_samples});
    to.push_back({name + ", uneven steps", make, kind, course::uneven_steps});
    // The longer intervals are, the better gradients agree.
    if (name.starts_with("lazy")) to.push_back({name + ", gradients agree", make, kind, course::agreement, true});
  }
}

template <class W>
void add_every_option(trainings<W>& to, const data_sets& data) {
  using T = typename W::value_type::value_type;
  const auto add = [&](const std::string& name, const scheme_options& options, course how = course::plain,
                       sums kind = sums::of_integers) {
    for (auto& [scheme, make] : every_scheme_with<W>(options)) {
      const bool weights = sends_weights(scheme);
      if (weights && (options.observes_gradients || (options.clips() && options.clip == clipping::after_averaging)))
        continue;
      to.push_back({"options, " + scheme + ", " + name, std::move(make), weights ? sums::rounded : kind, how,
                    options.observes_gradients});
    }
  };
  const std::size_t bucket = 60 * sizeof(T);
  add("one bucket", {});
  add("a bucket per tensor", {.bucket_bytes = 0});
  add("buckets of 60 elements", {.bucket_bytes = bucket});
  add("buckets of 60 elements, now and then no samples", {.bucket_bytes = bucket}, course::no_samples);
  add("buckets of 60 elements, uneven steps", {.bucket_bytes = bucket}, course::uneven_steps);
  add("not finite, refused", {.bucket_bytes = bucket}, course::not_finite);
  add("not finite, skipped", {.bucket_bytes = bucket, .non_finite_gradients = non_finite::skip}, course::not_finite);
  add("not finite, skipped, one bucket", {.non_finite_gradients = non_finite::skip}, course::not_finite);
  add("not finite, ignored", {.bucket_bytes = bucket, .non_finite_gradients = non_finite::ignore}, course::not_finite);
  add("a layer without gradient", {.bucket_bytes = 0, .optional_layers = {missing_layer}}, course::layer_missing);
  add("observed", {.bucket_bytes = bucket, .observes_gradients = true});
  const double norm = norm_between(data.of(sums::of_integers)), own_norm = norm_between(data.of(sums::rounded));
  add("clipped", {.bucket_bytes = bucket, .largest_norm = norm});
  add("clipped, one bucket", {.largest_norm = norm});
  add("clipped, observed, now and then no samples", {.largest_norm = norm, .observes_gradients = true},
      course::no_samples);
  add("clipped, not finite, skipped",
      {.bucket_bytes = bucket, .non_finite_gradients = non_finite::skip, .largest_norm = norm}, course::not_finite);
  add("clipped before", {.bucket_bytes = bucket, .largest_norm = own_norm, .clip = clipping::before_averaging},
      course::plain, sums::rounded);
  add("clipped before, not finite, skipped",
      {.non_finite_gradients = non_finite::skip, .largest_norm = own_norm, .clip = clipping::before_averaging},
      course::not_finite, sums::rounded);

  const auto add_in_buckets = [&](const std::string& name, const auto& delay, const auto& averaging, sums kind) {
    to.push_back({name + ", buckets of 33 elements",
                  compiled::scheme<W>(delay, averaging, scheme_options{.bucket_bytes = 33 * sizeof(T)}), kind});
  };
  for (const auto per : {granularity::tensor, granularity::chunk})
    add_in_buckets(per == granularity::tensor ? "committed, tracking per tensor" : "committed, tracking per chunk",
                   warm_up{0, fixed_delay{2}},
                   gradient_averaging{adaptive_exponential_smoothing{tracking_signal{}, per}, rough_rule},
                   sums::of_integers);
  add_in_buckets("merged with two parameters", periodic_delay{.period = 3, .delay = 2},
                 weight_averaging{two_parameter_merge{0.75, 0.125}, rough_rule}, sums::rounded);
}

/// Delays 0 to 4, two of them after a warm-up too.
template <class W, class MakeAveraging>
void add_delays(trainings<W>& to, const std::string& name, MakeAveraging make_averaging, auto predictor, auto rule) {
  for (const auto& [warm_up_steps, delay] : {std::pair{0, 0}, {0, 1}, {0, 2}, {0, 3}, {0, 4}, {3, 1}, {3, 3}})
    to.push_back({name + ", delay " + std::to_string(delay) +
                      (warm_up_steps > 0 ? ", warm-up " + std::to_string(warm_up_steps) : ""),
                  compiled::scheme<W>(warm_up{warm_up_steps, fixed_delay{delay}}, make_averaging(predictor, rule))});
}

template <class W>
void add_committed(trainings<W>& to) {
  const auto add = [&](const std::string& name, auto predictor, auto rule) {
    add_delays(
        to, "committed, " + name,
        [](auto p, auto r) {
          return gradient_averaging{p, r};
        },
        predictor, rule);
  };
  add("no prediction", no_prediction{}, rough_rule);
  add("smoothing", exponential_smoothing{0.3}, rough_rule);
  add("fixed gain", adaptive_exponential_smoothing{fixed_gain{0.3}}, rough_rule);
  add("extrapolation", linear_extrapolation{0.7}, rough_rule);
  add("compensation", delay_compensation{0.3}, rough_rule);
  add("tracking per tensor", adaptive_exponential_smoothing{tracking_signal{}, granularity::tensor}, rough_rule);
  add("tracking per chunk", adaptive_exponential_smoothing{tracking_signal{}, granularity::chunk}, rough_rule);
  add("cosine per tensor", adaptive_exponential_smoothing{cosine_gate{}, granularity::tensor}, rough_rule);
  add("cosine per chunk", adaptive_exponential_smoothing{cosine_gate{}, granularity::chunk}, rough_rule);
  add("smoothing, Nesterov", exponential_smoothing{0.3}, nesterov);
  add("smoothing, dampened", exponential_smoothing{0.3}, dampened);
  add("smoothing, AdamW", exponential_smoothing{0.3}, adam);
}

template <class W>
void add_lookahead(trainings<W>& to) {
  const auto add = [&](const std::string& name, auto predictor, auto rule) {
    add_delays(
        to, "look-ahead, " + name,
        [](auto p, auto r) {
          return lookahead_averaging{p, r};
        },
        predictor, rule);
  };
  add("local gradient", local_gradient{}, rough_rule);
  add("no prediction", no_prediction{}, rough_rule);
  add("blended", blended_gradient{0.3}, rough_rule);
  add("smoothing", exponential_smoothing{0.3}, rough_rule);
  add("extrapolation", linear_extrapolation{0.7}, rough_rule);
  add("compensation", delay_compensation{0.3}, rough_rule);
  add("tracking per tensor", adaptive_exponential_smoothing{tracking_signal{}, granularity::tensor}, rough_rule);
  add("tracking per chunk", adaptive_exponential_smoothing{tracking_signal{}, granularity::chunk}, rough_rule);
  add("cosine per tensor", adaptive_exponential_smoothing{cosine_gate{}, granularity::tensor}, rough_rule);
  add("cosine per chunk", adaptive_exponential_smoothing{cosine_gate{}, granularity::chunk}, rough_rule);
  add("blended, Nesterov", blended_gradient{0.3}, nesterov);
  add("blended, dampened", blended_gradient{0.3}, dampened);
  add("blended, AdamW", blended_gradient{0.3}, adam);
  for (const auto& [warm_up_steps, delay] : {std::pair{0, 0}, {0, 1}, {1, 1}, {3, 1}})
    to.push_back({"local rule, delay " + std::to_string(delay) + ", warm-up " + std::to_string(warm_up_steps),
                  compiled::scheme<W>(
                      warm_up{warm_up_steps, fixed_delay{delay}},
                      local_rule_averaging{local_gradient{}, rough_rule, sgd{.learning_rate = 0.2, .momentum = 0.3}})});
}

/// Gradients that do not travel at every step, and shared updates.
template <class W>
void add_others(trainings<W>& to) {
  for (const auto& [period, delay] : {std::pair{1, 0}, {1, 1}, {2, 1}, {3, 0}, {3, 1}, {3, 3}, {4, 2}})
    to.push_back({"accumulated, period " + std::to_string(period) + ", delay " + std::to_string(delay),
                  compiled::scheme<W>(periodic_delay{.period = period, .delay = delay},
                                      gradient_averaging{delay_compensation{0.3}, adam})});
  for (const int longest : {1, 2, 9})
    for (const course how : {course::plain, course::agreement})
      to.push_back({"lazy, sharded, up to " + std::to_string(longest) + " steps" +
                        (how == course::agreement ? ", gradients agree" : ""),
                    compiled::scheme<W>(lazy_delay{.longest_interval = longest},
                                        sharded_averaging{gradient_averaging{no_prediction{}, rough_rule}}),
                    sums::of_integers, how});
  add_delays(
      to, "sharded, compensation",
      [](auto p, auto r) {
        return sharded_averaging{gradient_averaging{p, r}};
      },
      delay_compensation{0.3}, rough_rule);
}

/// Where all factors are powers of two, weights are exact, until each merge has made them longer by a few bits. At
/// periods from 3 on, 9 steps and a sum over 5 ranks take 22 bits; at period 1, 35.
template <class W>
void add_weights(trainings<W>& to) {
  const sgd exact_rule{.learning_rate = 0.125, .momentum = 0.5};
  for (const int period : {1, 3, 4})
    for (int delay = 0; delay <= period; ++delay) {
      const bool exact = period >= 3 || std::is_same_v<W, model<double>>;
      const auto add = [&](const std::string& name, auto merge) {
        const auto add_rule = [&](const std::string& rule_name, auto rule, sums kind) {
          to.push_back(
              {name + ", " + rule_name + ", period " + std::to_string(period) + ", delay " + std::to_string(delay),
               compiled::scheme<W>(periodic_delay{.period = period, .delay = delay}, weight_averaging{merge, rule}),
               kind});
        };
        add_rule("heavy ball", exact_rule, exact ? sums::of_few_bits : sums::rounded);
        add_rule("AdamW", adam, sums::rounded);
      };
      add("replaced", replace{});
      add("blended", blend{0.25});
      add("two-parameter merge", two_parameter_merge{0.75, 0.125});
      add("delta merge", two_parameter_merge{1, 0});
    }
}

template <class W>
trainings<W> every_training([[maybe_unused]] const data_sets& data) {
  trainings<W> all;
  if constexpr (std::is_same_v<W, mixed_model>) {
    const auto add = [&](const std::string& name, const maker<W>& make, sums kind = sums::of_integers) {
      all.push_back({name, make, kind, course::plain, true});
      all.push_back({name + ", now and then no samples", make, kind, course::no_samples});
      all.push_back({name + ", uneven steps", make, kind, course::uneven_steps});
    };
    add("pseudo_synchronous_sgd", compiled::pseudo_synchronous_sgd<W>(rough_rule));
    add("lazy_sgd", compiled::lazy_sgd<W>(rough_rule));
    for (int delay = 0; delay <= 4; ++delay)
      add("lookahead_sgd, delay " + std::to_string(delay),
          compiled::lookahead_sgd<W>(adam, blended_gradient{0.3}, delay));
    add("sharded_sgd", compiled::sharded_sgd<W>(rough_rule));
    add("dasgd", compiled::dasgd<W>(rough_rule), sums::rounded);
  } else {
    add_every_scheme(all);
    add_every_option(all, data);
    add_committed(all);
    add_lookahead(all);
    add_others(all);
    add_weights(all);
  }
  return all;
}

// What was recorded.

/// The table in recorded.txt; or, where SYNCOPATE_RECORD names a file, one that is to be written.
class table {
 public:
  table() {
    for (const rank_group& ranks : every_communicator()) running_.insert(ranks.size);
    if (recording()) {
      ranks_.assign(running_.begin(), running_.end());
      return;
    }
    std::ifstream file(SYNCOPATE_RECORDED);
    std::string line, word;
    while (std::getline(file, line)) {
      if (line.empty() || line[0] == '#') continue;
      std::istringstream words(line);
      if (ranks_.empty()) {
        words >> word;  // "ranks"
        for (int ranks = 0; words >> ranks;) ranks_.push_back(ranks);
        continue;
      }
      std::vector<std::string> recorded(ranks_.size());
      for (std::string& one : recorded) words >> one;
      std::string name;
      std::getline(words >> std::ws, name);
      lines_[name] = recorded;
    }
    INFO(SYNCOPATE_RECORDED);
    REQUIRE(!lines_.empty());
  }

  static bool recording() { return std::getenv("SYNCOPATE_RECORD") != nullptr; }

  /// Compares, or records.
  void note(const std::string& name, const rank_group& ranks, const std::string& way, std::uint64_t value) {
    std::ostringstream got;
    got << std::hex << std::setw(16) << std::setfill('0') << value;
    const auto column = static_cast<std::size_t>(std::find(ranks_.begin(), ranks_.end(), ranks.size) - ranks_.begin());
    if (recording()) {
      if (!lines_.contains(name)) order_.push_back(name);
      auto& line = lines_[name];
      line.resize(ranks_.size());
      if (line[column].empty()) line[column] = got.str();
    }
    used_.insert(name);
    const auto line = lines_.find(name);
    const std::string recorded = line == lines_.end() || column == ranks_.size() ? "nowhere" : line->second[column];
    if (got.str() != recorded) differ(name, way + ", on " + ranks.name + ": " + got.str() + ", recorded " + recorded);
  }

  /// Nothing is known of this training on these ranks.
  void leave_out(const std::string& name) { used_.insert(name); }

  /// All trainings have been noted. Says at once what is not as it was.
  void close() {
    for (const auto& [name, recorded] : lines_)
      if (!used_.contains(name)) differ(name, ": has an entry, but is no training");
    if (different_.empty() && recording()) write(std::getenv("SYNCOPATE_RECORD"));
    INFO(differences_ << different_.size() << " trainings differ from tests/laws/recorded.txt");
    CHECK(different_.empty());
  }

 private:
  /// Tells of each training, up to a number, where it was found out.
  void differ(const std::string& name, const std::string& how) {
    constexpr std::size_t most = 50;
    if (!different_.insert(name).second) return;
    if (different_.size() <= most) differences_ += "  " + name + how + "\n";
    if (different_.size() == most + 1) differences_ += "  …\n";
  }

  void write(const std::string& path) const {
    if (running_.size() < 2) FAIL("SYNCOPATE_RECORD is for test_laws, which has several numbers of ranks");
    std::ofstream file(path);
    file << "# A fingerprint of each training on so many ranks; recorded.cpp says of what, and how to write this "
            "anew.\n";
    file << "ranks";
    for (const int ranks : ranks_) file << ' ' << ranks;
    file << "\n";
    for (const std::string& name : order_) {
      for (const std::string& recorded : lines_.at(name)) file << recorded << ' ';
      file << ' ' << name << "\n";
    }
    file.close();
    if (!file) FAIL(path << " cannot be written");
    FAIL(order_.size() << " trainings were recorded in " << path << ", and nothing was compared");
  }

  std::set<int> running_;   ///< numbers of ranks in this program
  std::vector<int> ranks_;  ///< of each column
  std::map<std::string, std::vector<std::string>> lines_;
  std::vector<std::string> order_;  ///< of lines that are to be written
  std::set<std::string> used_;
  std::set<std::string> different_;
  std::string differences_ = "\n";
};

template <class W>
void compare(table& recorded, const std::string& type) {
  for (const rank_group& ranks : every_communicator()) {
    const data_sets data(ranks.size);
    for (const training<W>& what : every_training<W>(data)) {
      const std::string name = type + ": " + what.name;
      if (ranks.name == "MPI" && ranks.size > 2 && what.kind == sums::rounded) {
        for (const std::string& aspect : aspects) recorded.leave_out(name + aspect);
        continue;
      }
      const training_data& on = data.of(what.kind);
      recorded.note(name, ranks, "", trained(ranks, on, what, way::whole_model)[0].value());
      if (what.how != course::uneven_steps)
        recorded.note(name, ranks, ", layer by layer", trained(ranks, on, what, way::layer_by_layer)[0].value());
      if (!what.watched) continue;
      const fingerprints all = trained(ranks, on, what, way::watched);
      for (std::size_t i = 0; i < all.size(); ++i) recorded.note(name + aspects[i], ranks, ", watched", all[i].value());
    }
  }
}

/// Whether the compiler contracts a product and a sum to one operation that rounds once, as with -march=native.
bool contracts() {
  volatile double factor = 1 + 0x1p-27, summand = -(1 + 0x1p-26);
  const double x = factor, y = summand;
  return x * x + y != 0;
}

TEST_CASE("Schemes train to the bits that were recorded", "[laws][recorded]") {
  if (contracts()) {
    WARN("Not compared with recorded.txt: products and sums are contracted here, but not with -ffp-contract=off");
    return;
  }
  table recorded;
  compare<model<float>>(recorded, "float");
  compare<model<double>>(recorded, "double");
  compare<mixed_model>(recorded, "mixed");
  recorded.close();
}

}  // namespace
