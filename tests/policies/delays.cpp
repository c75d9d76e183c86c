#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdint>
#include <deque>
#include <syncopate/delays/fixed_delay.hpp>
#include <syncopate/delays/periodic_delay.hpp>
#include <syncopate/delays/warm_up.hpp>
#include <utility>
#include <vector>

using namespace syncopate;

static_assert(DelayPolicy<fixed_delay> && DelayPolicy<periodic_delay>);
static_assert(DelayPolicy<warm_up<fixed_delay>> && DelayPolicy<warm_up<periodic_delay>>);
static_assert(DelayPolicy<warm_up<warm_up<fixed_delay>>>);

template <class D>
constexpr bool launches_every_step = requires {
  requires D::launches_every_step;
};
static_assert(launches_every_step<fixed_delay> && launches_every_step<warm_up<fixed_delay>>);
static_assert(!launches_every_step<periodic_delay> && !launches_every_step<warm_up<periodic_delay>>);

static_assert(std::same_as<decltype(warm_up{200, fixed_delay{1}}), warm_up<fixed_delay>>);
static_assert(warm_up{3, periodic_delay{2, 1}}.launches(4));
// A message of the warm-up is due at once, even if it is asked for later.
static_assert(warm_up{3, fixed_delay{2}}.due(2, 2) && warm_up{3, fixed_delay{2}}.due(2, 3));
static_assert(!warm_up{3, fixed_delay{2}}.due(3, 4) && warm_up{3, fixed_delay{2}}.due(3, 5));
static_assert(fixed_delay{2}.due(5, 7) && !fixed_delay{2}.due(5, 6));

namespace {

constexpr std::int64_t horizon = 60;

/// (launched, absorbed) for each message absorbed before the horizon.
using schedule = std::vector<std::pair<std::int64_t, std::int64_t>>;

struct history {
  schedule absorbed;
  std::int64_t most_in_flight = 0;
};

/// What a scheme does with a delay policy: at each step launch, then absorb, oldest first, what is due.
template <DelayPolicy D>
history run(const D& delay) {
  history result;
  std::deque<std::int64_t> in_flight;
  for (std::int64_t step = 0; step < horizon; ++step) {
    if (delay.launches(step)) in_flight.push_back(step);
    while (!in_flight.empty() && delay.due(in_flight.front(), step)) {
      result.absorbed.emplace_back(in_flight.front(), step);
      in_flight.pop_front();
    }
    // No message is due before an older one.
    for (const std::int64_t launched : in_flight) CHECK_FALSE(delay.due(launched, step));
    result.most_in_flight = std::max(result.most_in_flight, static_cast<std::int64_t>(in_flight.size()));
  }
  return result;
}

/// Messages that leave at `launches` and land `delay` steps later, as far as that is before the horizon.
schedule expected(const std::vector<std::int64_t>& launches, std::int64_t delay) {
  schedule result;
  for (const std::int64_t launched : launches)
    if (launched + delay < horizon) result.emplace_back(launched, launched + delay);
  return result;
}

std::vector<std::int64_t> every(std::int64_t period, std::int64_t from = 0) {
  std::vector<std::int64_t> result;
  for (std::int64_t step = from + period - 1; step < horizon; step += period) result.push_back(step);
  return result;
}

}  // namespace

TEST_CASE("a fixed delay launches at every step and lands as many steps later", "[delay]") {
  for (std::int64_t delay = 0; delay <= 12; ++delay) {
    const fixed_delay policy{delay};
    policy.validate();
    const history happened = run(policy);
    CHECK(happened.absorbed == expected(every(1), delay));
    CHECK(happened.most_in_flight == policy.most_in_flight());
  }
}

TEST_CASE("a periodic delay launches at the last step of each period", "[delay]") {
  for (std::int64_t period = 1; period <= 9; ++period)
    for (std::int64_t delay = 0; delay <= period; ++delay) {
      const periodic_delay policy{period, delay};
      policy.validate();
      const history happened = run(policy);
      CHECK(happened.absorbed == expected(every(period), delay));
      CHECK(happened.most_in_flight == policy.most_in_flight());
    }
}

TEST_CASE("a period of one step is a fixed delay", "[delay]") {
  for (const std::int64_t delay : {0, 1}) {
    CHECK(run(periodic_delay{.period = 1, .delay = delay}).absorbed == run(fixed_delay{delay}).absorbed);
  }
}

TEST_CASE("a warm-up is synchronous, and then counts from zero", "[delay]") {
  const auto check = [](std::int64_t steps, const auto& then, std::int64_t period, std::int64_t delay) {
    const warm_up policy{steps, then};
    policy.validate();
    schedule planned;
    for (std::int64_t step = 0; step < steps; ++step) planned.emplace_back(step, step);
    for (const auto& message : expected(every(period, steps), delay)) planned.push_back(message);
    const history happened = run(policy);
    CHECK(happened.absorbed == planned);
    CHECK(happened.most_in_flight == policy.most_in_flight());
  };
  for (const std::int64_t steps : {0, 1, 2, 7, 20}) {
    for (const std::int64_t delay : {0, 1, 3}) check(steps, fixed_delay{delay}, 1, delay);
    for (const std::int64_t delay : {0, 1, 4}) check(steps, periodic_delay{4, delay}, 4, delay);
  }
}

TEST_CASE("warm-ups nest: their steps add up", "[delay]") {
  CHECK(run(warm_up{3, warm_up{4, fixed_delay{2}}}).absorbed == run(warm_up{7, fixed_delay{2}}).absorbed);
}
