/// What is hidden of synchronous training's communication, layer by layer, and what a model says of that. The ranks
/// only sleep in place of a network whose layers differ in size, so that computation takes the same time on all, and
/// communicate over a modelled link. A first layer is small and slow, and a last one large and fast, as in most
/// networks.
///
/// The model, with layers from 0 at the input: gradients leave in the order of backward, and l's is summed at
/// c_l = max(c_{l+1}, ready_l) + t(n_l); forward reaches l at f_l = max(f_{l-1} + t_f(l-1), c_l). Where ranks share the
/// update, only half a sum travels that way; the other half, of weights, follows in the order of forward,
/// g_l = max(g_{l-1}, c_0) + t(n_l), and f_l waits for g_l.

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <syncopate/communicators/thread_team.hpp>
#include <syncopate/syncopate.hpp>
#include <thread>
#include <vector>

namespace {

using clock_type = std::chrono::steady_clock;

struct layer {
  std::size_t parameters;
  double backward, forward;  ///< milliseconds
};

constexpr std::array<layer, 4> network{{{20'000, 8, 6}, {60'000, 8, 5}, {300'000, 6, 6}, {300'000, 4, 2}}};
constexpr int steps = 25, ranks = 2;
const syncopate::link_model link{.gigabits_per_second = 0.6};

enum class way { whole, backward_only, by_layer, shared };

/// Milliseconds per step, and how much longer than meant computation took: sleeps end late.
struct outcome {
  double communication, exposed, stretch;
};

/// What the model says.
outcome modelled(way how, double stretch) {
  double communication = 0, clock = 0, landed = 0;
  std::array<double, network.size()> sum{}, needed{};
  for (std::size_t l = network.size(); l-- > 0;) {
    clock += stretch * network[l].backward;
    sum[l] = 1e3 * link.all_reduce_seconds(network[l].parameters * sizeof(float), ranks);
    communication += sum[l];
    landed = needed[l] = std::max(landed, clock) + (how == way::shared ? sum[l] / 2 : sum[l]);
  }
  const double computed = clock;
  if (how == way::whole) return {communication, communication, stretch};
  if (how == way::backward_only) return {communication, std::max(0., landed - computed), stretch};
  for (std::size_t l = 0; how == way::shared && l < network.size(); ++l) needed[l] = landed += sum[l] / 2;
  double exposed = 0;
  for (std::size_t l = 0; l < network.size(); ++l) {
    exposed += std::max(0., needed[l] - clock);
    clock = std::max(clock, needed[l]) + stretch * network[l].forward;
  }
  return {communication, exposed, stretch};
}

double median(std::vector<double> numbers) {
  std::ranges::nth_element(numbers, numbers.begin() + std::ssize(numbers) / 2);
  return numbers[numbers.size() / 2];
}

/// Sleeps in slices, between which messages progress, as between products of matrices. Returns how long that took.
template <class Scheme>
double compute(Scheme& scheme, double milliseconds) {
  const auto begin = clock_type::now();
  const auto passed = [&] { return std::chrono::duration<double, std::milli>(clock_type::now() - begin).count(); };
  while (passed() < milliseconds) {
    std::this_thread::sleep_for(std::chrono::microseconds(300));
    scheme.poll();
  }
  return passed();
}

template <class Scheme>
outcome train(way how, Scheme scheme, std::vector<std::vector<float>>& weights) {
  auto gradients = weights;
  double meant = 0;
  for (const layer& l : network) meant += l.backward + l.forward;
  syncopate::statistics before;
  std::vector<double> communication, exposed, stretch;
  for (int step = 0; step < steps; ++step) {
    double computed = 0;
    if (how != way::whole) scheme.begin_step(weights);
    for (std::size_t l = network.size(); l-- > 0;) {
      computed += compute(scheme, network[l].backward);
      if (how != way::whole) scheme.gradient_ready(l, gradients[l]);
    }
    how == way::whole ? scheme.step(weights, gradients) : scheme.end_step();
    for (std::size_t l = 0; how == way::backward_only && l < network.size(); ++l) scheme.before_forward(l);
    for (std::size_t l = 0; l < network.size(); ++l) {
      if (how != way::whole) scheme.before_forward(l);
      computed += compute(scheme, network[l].forward);
    }
    const syncopate::statistics now = scheme.statistics();
    communication.push_back(1e3 * (now.communication - before.communication).count());
    exposed.push_back(1e3 * (now.exposed - before.exposed).count());
    stretch.push_back(computed / meant);
    before = now;
  }
  return {median(communication), median(exposed), median(stretch)};
}

outcome measured(way how) {
  outcome of_first{};
  syncopate::thread_team(ranks, link).run([&](syncopate::thread_communicator communicator) {
    std::vector<std::vector<float>> weights;
    for (const layer& l : network) weights.emplace_back(l.parameters);
    const syncopate::sgd rule{.learning_rate = 0.1};
    const syncopate::scheme_options options{.bucket_bytes = 0};
    const outcome seen = how == way::shared
                             ? train(how, sharded_sgd(weights, communicator, rule, options), weights)
                             : train(how, synchronous_sgd(weights, communicator, rule, options), weights);
    if (communicator.rank() == 0) of_first = seen;
  });
  return of_first;
}

}  // namespace

int main() {
  std::printf("%-34s %14s %16s %16s %8s\n", "milliseconds per step", "communication", "exposed, model", "exposed",
              "hidden");
  bool as_modelled = true;
  double most_hidden = 0;
  const std::array<const char*, 4> names{"synchronous", "under backward only", "layer by layer",
                                         "layer by layer, sharded"};
  for (std::size_t i = 0; i < names.size(); ++i) {
    const auto how = static_cast<way>(i);
    const outcome real = measured(how), model = modelled(how, real.stretch);
    most_hidden = 1 - real.exposed / real.communication;
    std::printf("%-34s %14.1f %16.2f %16.2f %6.1f %%\n", names[i], real.communication, model.exposed, real.exposed,
                100 * most_hidden);
    // What has landed is noticed at the next poll, some tenths of a millisecond later.
    as_modelled = as_modelled && std::abs(real.exposed - model.exposed) < 0.1 * model.exposed + 1.5;
  }
  return as_modelled && most_hidden > 0.85 ? 0 : 1;
}
