// `now()` of a communicator: a clock of its own, by which all statistics are taken.
#include <catch2/catch.hpp>
#include <chrono>
#include <cstddef>
#include <memory>
#include <span>
#include <syncopate/communicators/faulty.hpp>
#include <syncopate/syncopate.hpp>
#include <utility>
#include <vector>

#include "training.hpp"

using namespace syncopate;
using namespace std::chrono_literals;
using seams::model;
using time_point = std::chrono::steady_clock::time_point;

namespace {

/// One rank in a time of its own, which passes where someone waits for a sum, or computes. A sum takes three seconds,
/// and any number of them can be in flight.
class unhurried : public loopback {
 public:
  class request {
   public:
    request(std::shared_ptr<time_point> clock, bool tells) : clock_(std::move(clock)), tells_(tells) {}
    bool test() const { return *clock_ >= landed_; }
    void wait() const {
      if (!test()) *clock_ = landed_;
    }
    time_point landed_at() const { return tells_ ? landed_ : *clock_; }

   private:
    std::shared_ptr<time_point> clock_;
    time_point landed_ = *clock_ + 3s;
    bool tells_;
  };

  explicit unhurried(bool tells) : tells_(tells) {}

  unhurried duplicate() const { return *this; }
  template <Element T>
  request start_sum(std::span<T>) {
    return {clock_, tells_};
  }
  time_point now() const { return *clock_; }
  void compute(std::chrono::seconds time) const { *clock_ += time; }

 private:
  std::shared_ptr<time_point> clock_ = std::make_shared<time_point>(time_point() + 100s);
  bool tells_;  ///< when sums landed, or else that they have, to whoever asks
};

static_assert(Communicator<unhurried, float>);

using seconds = statistics::seconds;

/// When something happened, in seconds since the beginning.
struct moments {
  seconds launched, landed, awaited;

  friend bool operator==(const moments&, const moments&) = default;
};

moments moments_of(const bucket_statistics& bucket) {
  const time_point beginning = time_point() + 100s;
  return {bucket.launched - beginning, bucket.landed - beginning, bucket.awaited - beginning};
}

model<float> start() { return {std::vector<float>(3), std::vector<float>(4)}; }

/// Some steps, each after `computing` of computation; layer by layer, half of that in each layer's backward.
template <class C, class Make>
statistics taken(const C& communicator, int steps, std::chrono::seconds computing, bool by_layers, Make make,
                 const unhurried& time) {
  model<float> weights = start();
  auto scheme = make(weights, communicator);
  for (int step = 0; step < steps; ++step) {
    if (!by_layers) {
      time.compute(computing);
      scheme.step(weights, start());
      continue;
    }
    scheme.begin_step(weights);
    for (const std::size_t layer : {0u, 1u}) scheme.before_forward(layer);
    for (const std::size_t layer : {1u, 0u}) {
      time.compute(computing / 2);
      scheme.gradient_ready(layer, start()[layer]);
    }
    scheme.end_step();
  }
  return scheme.statistics();
}

template <class Make>
statistics taken(const unhurried& communicator, int steps, std::chrono::seconds computing, bool by_layers, Make make) {
  return taken(communicator, steps, computing, by_layers, make, communicator);
}

const scheme_options a_bucket_for_each_layer{.bucket_bytes = 1};

constexpr auto synchronous = [](auto& weights, auto communicator) {
  return update_scheme{weights, communicator, fixed_delay{0}, gradient_averaging{no_prediction{}, sgd{}},
                       a_bucket_for_each_layer};
};
template <int Delay>
constexpr auto looking_ahead = [](auto& weights, auto communicator) {
  return update_scheme{weights, communicator, fixed_delay{Delay}, lookahead_averaging{local_gradient{}, sgd{}},
                       a_bucket_for_each_layer};
};

}  // namespace

TEST_CASE("A synchronous rank is blocked for all of a sum's time, by the communicator's clock", "[seams][clock]") {
  const bool tells = GENERATE(false, true);
  const statistics all = taken(unhurried(tells), 5, 10s, false, synchronous);
  CHECK(all.communication == 15s);
  CHECK(all.exposed == 15s);
  CHECK(all.hidden_fraction() == 0);
  REQUIRE(all.buckets.size() == 2);  // both at once: the first one is waited for, and the other has landed, too
  // Steps begin at 10, 23, 36, 49 and 62 seconds.
  CHECK(moments_of(all.buckets[0]) == moments{62s, 65s, 62s});
  CHECK(all.buckets[0].communication == 15s);
  CHECK(all.buckets[0].exposed == 15s);
  CHECK(moments_of(all.buckets[1]) == moments{62s, 65s, 65s});
  CHECK(all.buckets[1].communication == 15s);
  CHECK(all.buckets[1].exposed == 0s);
}

TEST_CASE("Layer by layer, the last layer's sum is hidden under backward of the first one", "[seams][clock]") {
  const bool tells = GENERATE(false, true);
  const statistics all = taken(unhurried(tells), 5, 4s, true, synchronous);
  // Bucket 0, of layer 1, leaves after two seconds and is in flight until the fifth one; bucket 1 leaves after four.
  // The next step begins by waiting for layer 0, which has landed last, after seven seconds.
  CHECK(all.communication == 4 * 5s);
  CHECK(all.exposed == 4 * 3s);
  REQUIRE(all.buckets.size() == 2);
  CHECK(moments_of(all.buckets[0]) == moments{23s, tells ? 26s : 28s, 28s});
  CHECK(all.buckets[0].communication == 4 * (tells ? 3s : 5s));
  CHECK(all.buckets[0].exposed == 0s);
  CHECK(moments_of(all.buckets[1]) == moments{25s, 28s, 25s});
  CHECK(all.buckets[1].communication == 4 * 3s);
  CHECK(all.buckets[1].exposed == 4 * 3s);
}

TEST_CASE("Looking ahead hides what computation takes, and no more", "[seams][clock]") {
  const bool tells = GENERATE(false, true);
  SECTION("all of it") {
    const statistics all = taken(unhurried(tells), 5, 4s, false, looking_ahead<1>);
    CHECK(all.exposed == 0s);
    CHECK(all.hidden_fraction() == 1);
    CHECK(all.communication == 4 * (tells ? 3s : 4s));  // unless told, it notices when it waits
    for (const bucket_statistics& bucket : all.buckets) {
      CHECK(moments_of(bucket) == moments{16s, tells ? 19s : 20s, 20s});
      CHECK(bucket.communication == 4 * (tells ? 3s : 4s));
      CHECK(bucket.exposed == 0s);
    }
  }
  SECTION("four fifths of it") {
    // Messages leave at 2, 4, 7, 9 and 12 seconds, and each step waits for the one before: at 4 and at 9, for a second.
    const statistics all = taken(unhurried(tells), 5, 2s, false, looking_ahead<1>);
    CHECK(all.exposed == 2s);
    CHECK(all.communication == 10s);
    CHECK(all.hidden_fraction() == 1 - 2. / 10);
    CHECK(moments_of(all.buckets[0]) == moments{9s, 12s, 12s});
    CHECK(all.buckets[0].communication == 4 * 3s);
    CHECK(all.buckets[0].exposed == 2s);
    CHECK(all.buckets[1].exposed == 0s);
  }
  SECTION("polled") {
    unhurried communicator(false);
    model<float> weights = start();
    auto scheme = looking_ahead<1>(weights, communicator);
    scheme.step(weights, start());
    communicator.compute(3s);
    scheme.poll();
    communicator.compute(3s);
    scheme.step(weights, start());
    CHECK(scheme.statistics().communication == 3s);
    CHECK(moments_of(scheme.statistics().buckets[0]) == moments{0s, 3s, 6s});
  }
}

TEST_CASE("What several messages are in flight in counts once, by the communicator's clock", "[seams][clock]") {
  const statistics all = taken(unhurried(true), 6, 2s, true, looking_ahead<2>);
  // Of step k, bucket 0 is in flight from second 2k + 1 on, and bucket 1 from 2k + 2 on; what leaves in steps 0 to 2 is
  // asked for until the sixth one.
  CHECK(all.exposed == 0s);
  CHECK(all.communication == 8s);
  REQUIRE(all.buckets.size() == 2);
  CHECK(moments_of(all.buckets[0]) == moments{5s, 8s, 10s});
  CHECK(moments_of(all.buckets[1]) == moments{6s, 9s, 10s});
  for (const bucket_statistics& bucket : all.buckets) {
    CHECK(bucket.communication == 3 * 3s);
    CHECK(bucket.exposed == 0s);
  }
}

TEST_CASE("A communicator that is wrapped keeps its clock", "[seams][clock]") {
  const unhurried inner(false);
  const statistics all = taken(faulty_communicator(inner, fault_plan{}), 5, 10s, false, synchronous, inner);
  CHECK(all.communication == 15s);
  CHECK(all.exposed == 15s);
  CHECK(moments_of(all.buckets[0]) == moments{62s, 65s, 62s});
}
