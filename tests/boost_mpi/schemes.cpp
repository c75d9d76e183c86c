// Schemes trained over MPI, in every way.
#include <mpi.h>

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <random>
#include <span>
#include <vector>

#include "../mpi/ways.hpp"
#include "../support/numbers.hpp"
#include "../support/random_pace.hpp"
#include "../support/training_data.hpp"
#include "syncopate/averaging/gradient_averaging.hpp"
#include "syncopate/averaging/lookahead_averaging.hpp"
#include "syncopate/communicators/boost_mpi.hpp"
#include "syncopate/delays/fixed_delay.hpp"
#include "syncopate/predictors/local_gradient.hpp"
#include "syncopate/predictors/no_prediction.hpp"
#include "syncopate/rules/sgd.hpp"
#include "syncopate/update_scheme.hpp"

namespace {

using namespace support;
using namespace syncopate;

template <class T>
using model = std::vector<std::vector<T>>;

/// Empty tensors, tiny ones that share a bucket, and large ones.
constexpr std::array<std::size_t, 9> sizes{0, 1, 5, 1000, 0, 3, 6000, 2, 0};
constexpr scheme_options small_buckets{.bucket_bytes = 64};

template <class T>
model<T> start_weights() {
  model<T> weights;
  for (const std::size_t size : sizes)
    for (auto& tensor = weights.emplace_back(size); T & weight : tensor)
      weight =
          static_cast<T>(scrambled(1, weights.size(), static_cast<std::size_t>(&weight - tensor.data()))) / (1 << 30);
  return weights;
}

/// Of a quadratic loss, whose minimum is elsewhere for each rank and step: an error anywhere is never forgotten.
template <class T>
void compute_gradients(const model<T>& weights, int rank, int step, model<T>& gradients) {
  for (std::size_t t = 0; t < weights.size(); ++t)
    for (std::size_t i = 0; i < weights[t].size(); ++i)
      gradients[t][i] =
          weights[t][i] - static_cast<T>(scrambled(static_cast<unsigned>(rank), static_cast<unsigned>(step), i + t)) /
                              (T(1 << 30) * T(4));
}

template <class T>
std::vector<T> flat(const model<T>& weights) {
  std::vector<T> all;
  for (const auto& tensor : weights) all.insert(all.end(), tensor.begin(), tensor.end());
  return all;
}

/// Whether all ranks have the same, bit by bit.
template <class T>
bool same_on_all_ranks(std::vector<T> values) {
  const std::vector<T> own = values;
  boost_mpi().broadcast(std::as_writable_bytes(std::span(values)), 0);
  return same_bits(own, values);
}

std::uint64_t over_ranks(std::uint64_t value) {
  MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
  return value;
}

/// A model that is trained by the committed scheme, by default one step late.
class committed {
 public:
  explicit committed(const boost_mpi& communicator, int delay = 1)
      : scheme_(weights_, communicator, fixed_delay{delay},
                gradient_averaging{no_prediction{}, sgd{.learning_rate = 0.1, .momentum = 0.5}}, small_buckets) {}

  void step() {
    compute_gradients(weights_, scheme_.rank(), step_++, gradients_);
    scheme_.step(weights_, gradients_);
  }
  void poll() { scheme_.poll(); }
  std::vector<float> finish() {
    scheme_.finish(weights_);
    return flat(weights_);
  }
  syncopate::statistics statistics() const { return scheme_.statistics(); }

 private:
  model<float> weights_ = start_weights<float>(), gradients_ = weights_;
  int step_ = 0;
  update_scheme<float, boost_mpi, fixed_delay, gradient_averaging<no_prediction, sgd>> scheme_;
};

/// Another one, of other numbers, that looks two steps ahead.
class ahead {
 public:
  explicit ahead(const boost_mpi& communicator)
      : scheme_(weights_, communicator, fixed_delay{2},
                lookahead_averaging{local_gradient{}, sgd{.learning_rate = 0.05, .momentum = 0.5}}, small_buckets) {}

  void step() {
    compute_gradients(weights_, scheme_.rank(), step_++, gradients_);
    scheme_.step(weights_, gradients_);
  }
  void poll() { scheme_.poll(); }
  std::vector<double> finish() {
    scheme_.finish(weights_);
    return flat(weights_);
  }

 private:
  model<double> weights_ = start_weights<double>(), gradients_ = weights_;
  int step_ = 0;
  update_scheme<double, boost_mpi, fixed_delay, lookahead_averaging<local_gradient, sgd>> scheme_;
};

/// Takes some time, up to 2 ms and other ones on each rank, and polls meanwhile if wanted.
class computation {
 public:
  explicit computation(int rank) : random_(static_cast<unsigned>(rank)) {}

  template <class Poll>
  void operator()(Poll poll) {
    using clock = std::chrono::steady_clock;
    const auto end = clock::now() + std::chrono::microseconds(random_() % 2000);
    while (clock::now() < end) poll();
  }

 private:
  std::minstd_rand random_;
};

constexpr int steps = 20;

}  // namespace

TEST_CASE("Weights do not depend on who makes the calls, nor when, nor on how long ranks compute",
          "[boost_mpi][schemes]") {
  std::map<mpi_transport, std::vector<float>> expected;
  for (const mpi_way& way : every_way())
    for (const bool computes : {false, true})
      for (const bool polls : {false, true}) {
        INFO(way.name << (computes ? ", with" : ", without") << " computation" << (polls ? " and polls" : ""));
        const boost_mpi communicator({}, way.options);
        committed training(communicator);
        computation compute(communicator.rank());
        for (int step = 0; step < steps; ++step) {
          if (computes)
            compute([&] {
              if (polls) training.poll();
            });
          if (polls) training.poll();
          training.step();
        }
        const auto weights = training.finish();
        CHECK(same_on_all_ranks(weights));
        CHECK(same_bits(weights, expected.try_emplace(way.options.transport, weights).first->second));
        if (communicator.size() <= 2)  // a + b = b + a, so that transports agree as well
          CHECK(same_bits(weights, expected.begin()->second));
      }
}

TEST_CASE("A scheme reports what the transport has sent for it", "[boost_mpi][schemes]") {
  const mpi_way way = GENERATE(from_range(every_way()));
  INFO(way.name);
  const boost_mpi communicator({}, way.options);
  committed training(communicator);
  for (int step = 0; step < steps; ++step) training.step();
  training.finish();
  const statistics taken = training.statistics();
  const auto rounds = 2 * static_cast<std::uint64_t>(communicator.size() - 1);
  CHECK(taken.transport.processor_time.count() > 0);
  CHECK(communicator.cost().bytes_sent == 0);  // the scheme has a channel of its own
  if (way.options.transport == mpi_transport::ring)
    CHECK(over_ranks(taken.transport.bytes_sent) == rounds * taken.bytes);
  else  // to within a byte per message and round
    CHECK(over_ranks(taken.transport.bytes_sent) + rounds * taken.buckets.size() * steps * rounds >=
          rounds * taken.bytes);
}

TEST_CASE("Two schemes in one program, and the user's own messages", "[boost_mpi][schemes]") {
  const mpi_way one = GENERATE(from_range(every_way())), other = GENERATE(from_range(every_way()));
  INFO(one.name << " and " << other.name);
  const boost_mpi first({}, one.options), second({}, other.options);
  committed a_alone(first);
  for (int step = 0; step < steps; ++step) a_alone.step();
  ahead b_alone(second);
  for (int step = 0; step < steps; ++step) b_alone.step();

  committed a(first);
  ahead b(second);
  const int rank = first.rank(), ranks = first.size();
  std::minstd_rand random(static_cast<unsigned>(rank));
  for (int step = 0; step < steps; ++step) {
    int received = -1, total = 1;
    std::array<MPI_Request, 2> user{};
    MPI_Irecv(&received, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &user[0]);
    MPI_Isend(&step, 1, MPI_INT, (rank + 1) % ranks, step, MPI_COMM_WORLD, &user[1]);
    MPI_Allreduce(MPI_IN_PLACE, &total, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    // Messages are one step late at least, so that ranks need not agree on whose step comes first.
    const bool a_first = random() % 2 == 0;
    if (a_first) a.step();
    if (random() % 2 == 0) b.poll();
    b.step();
    if (random() % 2 == 0) a.poll();
    if (!a_first) a.step();
    MPI_Waitall(2, user.data(), MPI_STATUSES_IGNORE);
    CHECK(received == step);
    CHECK(total == ranks);
  }
  CHECK(same_bits(a.finish(), a_alone.finish()));
  CHECK(same_bits(b.finish(), b_alone.finish()));
}

TEST_CASE("A synchronous scheme next to one with messages in flight", "[boost_mpi][schemes]") {
  const mpi_way one = GENERATE(from_range(every_way())), other = GENERATE(from_range(every_way()));
  INFO(one.name << " and " << other.name);
  const boost_mpi first({}, one.options), second({}, other.options);
  committed a_alone(first, 0);
  for (int step = 0; step < steps; ++step) a_alone.step();
  ahead b_alone(second);
  for (int step = 0; step < steps; ++step) b_alone.step();

  committed a(first, 0);
  ahead b(second);
  random_pace pace(first.rank());
  for (int step = 0; step < steps; ++step) {
    pace.compute();
    a.step();
    b.step();
  }
  CHECK(same_bits(a.finish(), a_alone.finish()));
  CHECK(same_bits(b.finish(), b_alone.finish()));
}

TEST_CASE("A scheme may be dropped with messages in flight; the next one is not disturbed", "[boost_mpi][schemes]") {
  const mpi_way way = GENERATE(from_range(every_way()));
  INFO(way.name);
  const boost_mpi communicator({}, way.options);
  std::optional<committed> reference(communicator), dropped(communicator);
  for (int step = 0; step < steps; ++step) {
    reference->step();
    dropped->step();
  }
  committed next(communicator);
  dropped.reset();
  for (int step = 0; step < steps; ++step) next.step();
  CHECK(same_bits(next.finish(), reference->finish()));
}

TEST_CASE("A hundred thousand small steps at a random pace", "[boost_mpi][schemes][slow]") {
  for (const mpi_way& way : every_way()) {
    INFO(way.name);
    const boost_mpi communicator({}, way.options);
    const int rank = communicator.rank(), ranks = communicator.size();
    // As many as that on one rank or two, which have cores of their own; a tenth of it on more.
    const bool on_thread = way.options.progress == mpi_progress::on_thread;
    const int soak_steps = (on_thread ? 10'000 : 30'000) / (ranks <= 2 ? 1 : 10);
    random_pace pace(rank);
    std::array<std::vector<float>, 3> weights{std::vector<float>(1), std::vector<float>(4), std::vector<float>(2)};
    auto gradients = weights;
    update_scheme scheme{weights, communicator, fixed_delay{2},
                         gradient_averaging{no_prediction{}, sgd{.learning_rate = 1}},
                         scheme_options{.bucket_bytes = 16}};
    // Small integers, whose mean over ranks is exact, and whose sum over five steps is zero.
    const auto mean = [](int step) { return static_cast<float>(step % 5 - 2); };
    int mistakes = 0;
    float expected = 0;
    for (int step = 0; step < soak_steps; ++step) {
      pace.compute();
      for (auto& tensor : gradients) std::ranges::fill(tensor, mean(step) + static_cast<float>(2 * rank - (ranks - 1)));
      scheme.step(weights, gradients);
      if (step % 7 == 0) scheme.poll();
      if (step >= 2) expected -= mean(step - 2);
      for (const auto& tensor : weights) mistakes += tensor != std::vector<float>(tensor.size(), expected);
    }
    scheme.finish(weights);
    CHECK(mistakes == 0);
    for (const auto& tensor : weights) CHECK(tensor == std::vector<float>(tensor.size(), 0));
  }
}
