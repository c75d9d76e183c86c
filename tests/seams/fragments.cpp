// A delay policy with `fragments`, `fragment_of` and `fragment`: groups of layers with schedules of their own.
#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <syncopate/syncopate.hpp>
#include <utility>
#include <vector>

#include "../support/ranks.hpp"
#include "training.hpp"

using namespace syncopate;
using seams::model;

namespace {

/// Every `count`-th layer travels together, once per period, each group at an offset of its own (as in streaming
/// DiLoCo, Douillard et al., arXiv 2501.18512). It is the policy of each of its fragments, too.
struct strided {
  std::int64_t period = 4, delay = 0;
  std::size_t count = 2;
  std::size_t number = 0;  ///< of the fragment that it is

  std::size_t fragments() const { return count; }
  std::size_t fragment_of(std::size_t layer, std::size_t) const { return layer % count; }
  strided fragment(std::size_t of) const { return {period, delay, count, of}; }

  bool launches(std::int64_t step) const {
    const auto offset = static_cast<std::int64_t>(number) * period / static_cast<std::int64_t>(count);
    return step % period == offset;
  }
  bool due(std::int64_t launched, std::int64_t step) const { return step - launched >= delay; }
  std::int64_t most_in_flight() const { return delay == 0 ? 0 : 1; }
};

/// A fragment's schedule, for a whole model.
struct undivided {
  strided of;

  bool launches(std::int64_t step) const { return of.launches(step); }
  bool due(std::int64_t launched, std::int64_t step) const { return of.due(launched, step); }
  std::int64_t most_in_flight() const { return of.most_in_flight(); }
};

/// The first half of the layers has one delay, and the second half another one.
struct halves {
  std::array<fixed_delay, 2> delays;

  static constexpr bool launches_every_step = true;

  std::size_t fragments() const { return 2; }
  std::size_t fragment_of(std::size_t layer, std::size_t layers) const { return layer < layers / 2 ? 0 : 1; }
  fixed_delay fragment(std::size_t number) const { return delays[number]; }

  bool launches(std::int64_t) const { return true; }
  bool due(std::int64_t launched, std::int64_t step) const { return delays[1].due(launched, step); }
  std::int64_t most_in_flight() const { return delays[1].delay; }
};

/// Puts a layer where it is told to.
struct misplaced : strided {
  std::size_t layer = 1, into = 2;

  std::size_t fragment_of(std::size_t of, std::size_t layers) const {
    return of == layer ? into : strided::fragment_of(of, layers);
  }
};

constexpr weight_averaging local{two_parameter_merge{.local_progress = 1, .disagreement = 0.5},
                                 sgd{.learning_rate = 0.5}};

model<double> start() {
  return {std::vector<double>(3), std::vector<double>(600), std::vector<double>(5), std::vector<double>(1)};
}

/// Steps from one to another; what gradients are computed at is noted.
template <class Scheme>
void train(Scheme& scheme, model<double>& weights, std::int64_t from, std::int64_t to, bool by_layers,
           std::vector<model<double>>* seen = nullptr) {
  for (std::int64_t step = from; step < to; ++step)
    seams::step(scheme, weights, by_layers, [&](const model<double>& now) {
      if (seen) seen->push_back(now);
      return seams::numbers_like(now, step, scheme.rank());
    });
}

/// Local SGD of one parameter, whose layer is in such a fragment: the ranks' weights at each step, and the consensus.
/// Ranks make so many steps; whoever has made its own, joins.
std::vector<std::vector<double>> recurrence(const std::vector<std::int64_t>& steps, std::size_t parameter,
                                            const strided& when, const std::vector<strided>& all) {
  const std::size_t ranks = steps.size();
  std::vector<std::vector<double>> seen(ranks);
  std::vector<double> w(ranks), snapshot;
  double mean = 0;
  std::int64_t launched = -1;
  const auto merge = [&](bool fresh) {
    for (std::size_t rank = 0; rank < ranks; ++rank)
      w[rank] = fresh ? mean : mean + 0.5 * (snapshot[rank] - mean) + (w[rank] - snapshot[rank]);
    launched = -1;
  };
  for (std::int64_t step = 0;; ++step) {
    double active = 0, sum = 0;
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      if (step >= steps[rank]) continue;
      seen[rank].push_back(w[rank]);
      w[rank] -= seams::number(step, static_cast<int>(rank), parameter) / 2.0;
      active += 1;
    }
    if (launched >= 0 && when.due(launched, step)) merge(false);
    for (std::size_t rank = 0; rank < ranks; ++rank)
      if (step < steps[rank]) sum += w[rank];
    if (when.launches(step) && active > 0) {
      snapshot = w;
      mean = sum / active;
      launched = step;
      if (when.due(step, step)) merge(true);
    }
    // Any message that only joined ranks have sent tells them so.
    if (active == 0 && std::ranges::any_of(all, [&](const strided& other) { return other.launches(step); })) break;
  }
  if (launched >= 0) merge(false);
  double sum = 0;
  for (const double x : w) sum += x;
  for (std::size_t rank = 0; rank < ranks; ++rank) seen[rank].push_back(sum / static_cast<double>(ranks));
  return seen;
}

}  // namespace

TEST_CASE("Each fragment is averaged once per period, at an offset of its own", "[seams][fragments]") {
  const int ranks = GENERATE(1, 2, 3);
  const std::int64_t delay = GENERATE(0, 1);
  const bool by_layers = GENERATE(false, true), uneven = GENERATE(false, true);
  const std::size_t bucket_bytes = GENERATE(1u, 4000u, 1u << 20);
  std::vector<std::int64_t> steps(static_cast<std::size_t>(ranks), 13);
  if (uneven)
    for (std::size_t rank = 0; rank < steps.size(); ++rank) steps[rank] += 3 * static_cast<std::int64_t>(rank);
  const strided whole{.period = 4, .delay = delay, .count = 2};
  const auto found = support::on_ranks(ranks, [&](thread_communicator communicator) {
    model<double> weights = start();
    std::vector<model<double>> seen;
    update_scheme scheme{weights, communicator, whole, local, {.bucket_bytes = bucket_bytes}};
    train(scheme, weights, 0, steps[static_cast<std::size_t>(communicator.rank())], by_layers, &seen);
    scheme.finish(weights);
    seen.push_back(weights);
    return seen;
  });
  double apart = 0;
  std::size_t parameter = 0, compared = 0;
  for (std::size_t layer = 0; layer < 4; ++layer)
    for (std::size_t i = 0; i < found[0][0][layer].size(); ++i, ++parameter) {
      const auto expected =
          recurrence(steps, parameter, whole.fragment(layer % 2), {whole.fragment(0), whole.fragment(1)});
      for (std::size_t rank = 0; rank < found.size(); ++rank) {
        if (i == 0) REQUIRE(expected[rank].size() == found[rank].size());
        for (std::size_t step = 0; step < expected[rank].size(); ++step, ++compared)
          apart = std::max(apart, std::abs(found[rank][step][layer][i] - expected[rank][step]));
      }
    }
  INFO(ranks << " ranks, delay " << delay << (by_layers ? ", layer by layer" : "") << (uneven ? ", uneven" : ""));
  CHECK(compared >= 609 * 14);
  CHECK(apart < 1e-12);
  for (const auto& seen : found) CHECK((seen.back() == found[0].back()));
}

TEST_CASE("Messages are counted fragment by fragment", "[seams][fragments]") {
  const auto counts = [](std::size_t fragments, std::int64_t delay, std::int64_t steps) {
    model<double> weights = start();
    update_scheme scheme{weights, loopback{}, strided{.period = 4, .delay = delay, .count = fragments}, local};
    train(scheme, weights, 0, steps, false);
    const statistics taken = scheme.statistics();
    return std::vector{taken.launched, taken.absorbed, static_cast<std::int64_t>(taken.buckets.size())};
  };
  using list = std::vector<std::int64_t>;
  CHECK(counts(1, 0, 9) == list{3, 3, 1});  // at steps 0, 4 and 8
  CHECK(counts(2, 0, 9) == list{5, 5, 2});  // and at 2 and 6
  CHECK(counts(2, 1, 9) == list{5, 4, 2});
  CHECK(counts(4, 0, 9) == list{9, 9, 4});
  CHECK(counts(6, 0, 8) == list{12, 12, 6});  // two of them have no layer, and something to tell
}

namespace {

/// Weights of a model that is trained in one go, and of its halves, trained separately.
template <class Averaging>
void compare_with_halves(const Averaging& averaging, std::int64_t first_delay, std::int64_t second_delay) {
  const int ranks = GENERATE(1, 3);
  const bool by_layers = GENERATE(false, true);
  const std::size_t bucket_bytes = GENERATE(1u, 1u << 20);
  const auto found = support::on_ranks(ranks, [&](thread_communicator communicator) {
    const scheme_options options{.bucket_bytes = bucket_bytes};
    const fixed_delay delays[] = {{first_delay}, {second_delay}};
    model<double> weights = start();
    model<double> front(weights.begin(), weights.begin() + 2), back(weights.begin() + 2, weights.end());
    update_scheme scheme{weights, communicator, halves{{delays[0], delays[1]}}, averaging, options};
    update_scheme front_scheme{front, communicator, delays[0], averaging, options};
    update_scheme back_scheme{back, communicator, delays[1], averaging, options};
    std::vector<std::string> different;
    const auto compare = [&](const std::string& when) {
      const model<double> first(weights.begin(), weights.begin() + 2), second(weights.begin() + 2, weights.end());
      if (first != front || second != back) different.push_back(when);
    };
    for (std::int64_t step = 0; step < 12; ++step) {
      // Gradients depend on weights, so that what differs once differs for good.
      const model<double> noise = seams::numbers_like(start(), step, communicator.rank());
      const auto gradient_from = [&](std::size_t first) {
        return [&, first](const model<double>& now) {
          model<double> gradients(now.size());
          for (std::size_t layer = 0; layer < now.size(); ++layer) {
            gradients[layer] = noise[first + layer];
            for (std::size_t i = 0; i < now[layer].size(); ++i) gradients[layer][i] += now[layer][i] / 3;
          }
          return gradients;
        };
      };
      seams::step(scheme, weights, by_layers, gradient_from(0));
      seams::step(front_scheme, front, by_layers, gradient_from(0));
      seams::step(back_scheme, back, by_layers, gradient_from(2));
      if (!by_layers) compare("step " + std::to_string(step));
    }
    scheme.finish(weights);
    front_scheme.finish(front);
    back_scheme.finish(back);
    compare("the end");
    return different;
  });
  for (const auto& different : found) CHECK(different == std::vector<std::string>{});
}

}  // namespace

TEST_CASE("Fragments with delays of their own are schemes of their own, bitwise", "[seams][fragments]") {
  constexpr sgd rule{.learning_rate = 0.0625, .momentum = 0.5};
  SECTION("committed") { compare_with_halves(gradient_averaging{exponential_smoothing{}, rule}, 0, 2); }
  SECTION("committed, the other way round") {
    compare_with_halves(gradient_averaging{exponential_smoothing{}, rule}, 2, 0);
  }
  SECTION("looking ahead") { compare_with_halves(lookahead_averaging{local_gradient{}, rule}, 0, 2); }
  SECTION("ranks share the work") {
    compare_with_halves(sharded_averaging{gradient_averaging{no_prediction{}, rule}}, 1, 2);
  }
}

TEST_CASE("Gradients of steps at which a fragment sends nothing are added up", "[seams][fragments]") {
  const auto found = support::on_ranks(2, [](thread_communicator communicator) {
    model<double> weights = start();
    update_scheme scheme{weights, communicator, strided{.period = 4, .delay = 0, .count = 2},
                         gradient_averaging{no_prediction{}, sgd{.learning_rate = 0.5}}};
    train(scheme, weights, 0, 8, false);
    return weights;
  });
  std::size_t parameter = 0, different = 0;
  for (std::size_t layer = 0; layer < 4; ++layer)
    for (std::size_t i = 0; i < found[0][layer].size(); ++i, ++parameter) {
      double weight = 0;  // fragment 0 has sent at steps 0 and 4, fragment 1 at steps 2 and 6
      for (std::int64_t step = 0; step <= (layer % 2 == 0 ? 4 : 6); ++step)
        weight -= (seams::number(step, 0, parameter) + seams::number(step, 1, parameter)) / 4.0;
      if (found[0][layer][i] != weight) ++different;
    }
  CHECK(parameter == 609);
  CHECK(different == 0);
  CHECK((found[0] == found[1]));
}

TEST_CASE("What fragments have in flight is in the checkpoint", "[seams][fragments]") {
  const std::int64_t at = GENERATE(3, 5, 6, 7);
  const bool by_layers = GENERATE(false, true);
  const auto resumes = [&](auto delay, auto averaging) {
    return support::on_ranks(2, [&](thread_communicator communicator) {
      const auto make = [&](model<double>& weights) {
        return update_scheme{weights, communicator, delay, averaging, {.bucket_bytes = 4000}};
      };
      model<double> weights = start(), resumed = start();
      auto scheme = make(weights);
      train(scheme, weights, 0, at, by_layers);
      if (by_layers)
        for (std::size_t layer = 0; layer < 4; ++layer) scheme.before_forward(layer);
      const std::string checkpoint = seams::saved(scheme, weights);
      auto another = make(resumed);
      seams::load(another, resumed, checkpoint);
      train(scheme, weights, at, 14, by_layers);
      train(another, resumed, at, 14, by_layers);
      scheme.finish(weights);
      another.finish(resumed);
      return weights == resumed && scheme.statistics().launched == another.statistics().launched;
    });
  };
  constexpr sgd rule{.learning_rate = 0.5, .momentum = 0.5};
  const std::vector<bool> all(2, true);
  CHECK(resumes(strided{.period = 4, .delay = 1}, local) == all);
  CHECK(resumes(strided{.period = 4, .delay = 3}, local) == all);
  CHECK(resumes(strided{.period = 4, .delay = 3}, gradient_averaging{no_prediction{}, rule}) == all);
  CHECK(resumes(halves{{fixed_delay{0}, fixed_delay{2}}}, lookahead_averaging{local_gradient{}, rule}) == all);
}

TEST_CASE("Fragments are warmed up like a whole model", "[seams][fragments]") {
  const std::int64_t delay = GENERATE(0, 1);
  const auto found = support::on_ranks(2, [&](thread_communicator communicator) {
    const gradient_averaging averaging{no_prediction{}, sgd{.learning_rate = 0.0625}};
    const strided all{.period = 4, .delay = delay};
    model<double> weights = start();
    update_scheme scheme{weights, communicator, warm_up{3, all}, averaging};
    train(scheme, weights, 0, 13, false);
    bool same = scheme.statistics().launched == 2 * 3 + 5;  // at 3, 5, 7, 9 and 11, in turn
    for (std::size_t fragment = 0; fragment < 2; ++fragment) {
      model<double> alone = start();
      update_scheme whole{alone, communicator, warm_up{3, undivided{all.fragment(fragment)}}, averaging};
      train(whole, alone, 0, 13, false);
      for (std::size_t layer = fragment; layer < 4; layer += 2) same = same && weights[layer] == alone[layer];
    }
    return same;
  });
  CHECK(found == std::vector<bool>(2, true));
}

namespace {

/// What each of two ranks says when it makes a scheme.
template <class Delay>
std::vector<std::string> said(Delay of_first, Delay of_second, const scheme_options& options = {}) {
  return support::on_ranks(2, [&](thread_communicator communicator) -> std::string {
    model<double> weights = start();
    try {
      update_scheme scheme{weights, communicator, communicator.rank() == 0 ? of_first : of_second,
                           gradient_averaging{no_prediction{}, sgd{}}, options};
    } catch (const configuration_error& error) {
      return error.what();
    }
    return "";
  });
}

void check_all(const std::vector<std::string>& texts, const std::string& begin) {
  for (const std::string& text : texts) {
    CHECK(text == texts[0]);
    CHECK_THAT(text, Catch::Matchers::StartsWith(begin));
  }
}

}  // namespace

TEST_CASE("Fragments that make no sense are refused on every rank", "[seams][fragments]") {
  const strided two{.count = 2}, none{.count = 0};
  const std::string needs_one = "syncopate: a delay policy needs at least one fragment";
  check_all(said(none, none), needs_one);
  check_all(said(two, none), needs_one);
  check_all(said(two, two, {.largest_norm = 1, .clip = clipping::after_averaging}),
            "syncopate: fragments of a model have no common mean");
  check_all(said(two, two, {.largest_norm = 1, .clip = clipping::before_averaging}), "");
  check_all(said(misplaced{two, 1, 2}, misplaced{two, 1, 2}),
            "syncopate: the delay policy puts layer 1 into fragment 2, but the last one is 1 (rank 0)");
  check_all(said(misplaced{two, 1, 0}, misplaced{two, 3, 7}),
            "syncopate: the delay policy puts layer 3 into fragment 7, but the last one is 1 (rank 1)");
  check_all(said(misplaced{strided{.count = 1}, 0, 1}, misplaced{strided{.count = 1}, 0, 1}),
            "syncopate: the delay policy puts layer 0 into fragment 1, but the last one is 0 (rank 0)");
}

TEST_CASE("Ranks that divide the model differently are told so", "[seams][fragments]") {
  const strided two{.count = 2}, four{.count = 4};
  check_all(said(misplaced{two, 1, 0}, misplaced{two, 1, 1}),
            "syncopate: ranks were given different delays: rank 0: schedule");
  check_all(said(two, four), "syncopate: ranks were given different delays: rank 0: schedule");
  check_all(said(misplaced{two, 1, 1}, misplaced{two, 2, 0}), "");  // which is where these layers are anyway
}
