/// What each scheme hides where computation takes the same time on both ranks: the ranks only sleep, for 15 ms a step,
/// and one all-reduce takes 0.8 of that over the modelled link. Real computation varies, and a rank that waits for a
/// slower one waits for no message.

#include <chrono>
#include <cstdio>
#include <syncopate/communicators/thread_team.hpp>
#include <syncopate/syncopate.hpp>
#include <thread>
#include <vector>

namespace {

constexpr int steps = 60, layers = 5;
constexpr std::chrono::milliseconds layer_time{3};
constexpr std::size_t parameters = 250'000;

template <class MakeScheme>
double hidden(MakeScheme make_scheme) {
  const syncopate::thread_team team(2, syncopate::link_model{.gigabits_per_second = 0.667});
  double of_both = 0;
  team.run([&](syncopate::thread_communicator communicator) {
    std::vector<float> weights(parameters, 1), gradients(parameters, 1e-3F);
    auto scheme = make_scheme(weights, communicator);
    for (int step = 0; step < steps; ++step) {
      for (int layer = 0; layer < layers; ++layer) {
        std::this_thread::sleep_for(layer_time);  // in place of forward and backward
        scheme.poll();
      }
      scheme.step(weights, gradients);
    }
    double mean = scheme.statistics().hidden_fraction() / communicator.size();
    communicator.start_sum(std::span(&mean, 1)).wait();
    if (communicator.rank() == 0) of_both = mean;
  });
  return of_both;
}

}  // namespace

int main() {
  using namespace syncopate;
  const sgd rule{.learning_rate = 1e-3, .momentum = 0.9};
  const auto print = [](const char* name, double fraction) {
    std::printf("%-20s %5.1f %%\n", name, 100 * fraction);
    return fraction;
  };
  const double none = print("synchronous", hidden([&](auto& w, auto c) { return synchronous_sgd(w, c, rule); }));
  print("pseudo-synchronous", hidden([&](auto& w, auto c) { return pseudo_synchronous_sgd(w, c, rule); }));
  print("look-ahead", hidden([&](auto& w, auto c) { return lookahead_sgd(w, c, rule); }));
  print("OD-SGD", hidden([&](auto& w, auto c) { return od_sgd(w, c, rule, 0); }));
  const double nearly_all =
      print("DaSGD", hidden([&](auto& w, auto c) { return dasgd(w, c, rule, {.period = 4, .delay = 1}); }));
  return none < 0.05 && nearly_all > 0.5 ? 0 : 1;
}
