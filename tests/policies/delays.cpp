#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdint>
#include <deque>
#include <syncopate/delays/fixed_delay.hpp>
#include <syncopate/delays/lazy_delay.hpp>
#include <syncopate/delays/periodic_delay.hpp>
#include <syncopate/delays/warm_up.hpp>
#include <utility>
#include <vector>

using namespace syncopate;

static_assert(DelayPolicy<fixed_delay> && DelayPolicy<periodic_delay>);
static_assert(DelayPolicy<warm_up<fixed_delay>> && DelayPolicy<warm_up<periodic_delay>>);
static_assert(DelayPolicy<warm_up<warm_up<fixed_delay>>>);
static_assert(DelayPolicy<lazy_delay> && DelayPolicy<warm_up<lazy_delay>>);
static_assert(detail::adapts<lazy_delay> && detail::adapts<warm_up<lazy_delay>>);
static_assert(!detail::adapts<fixed_delay> && !detail::adapts<warm_up<periodic_delay>>);

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

TEST_CASE("a lazy delay grows where angle and size allow it, and shrinks where neither does", "[delay]") {
  const auto after = [](std::int64_t interval, double latest, double earlier, double all) {
    lazy_delay policy{.longest_interval = 4, .interval = interval, .newest = 9};
    policy.observe(
        {.step = 9 + interval, .mean_of_squares = all, .latest_squares = latest, .earlier_squares = earlier});
    CHECK(policy.newest == 9 + interval);
    for (std::int64_t step = 0; step < 40; ++step)
      CHECK(policy.launches(step) == (step > policy.newest && (step - policy.newest) % policy.interval == 0));
    return policy.interval;
  };
  CHECK(after(1, 2, 0, 2) == 2);    // a single gradient agrees with itself
  CHECK(after(2, 1, 1, 2) == 3);    // orthogonal ones
  CHECK(after(2, 1, 4, 9) == 3);    // of one direction
  CHECK(after(4, 1, 9, 16) == 4);   // the longest interval
  CHECK(after(2, 1, 1, 1.9) == 1);  // apart, and short
  CHECK(after(3, 1, 4, 3.5) == 3);  // apart, but long
  CHECK(after(3, 1, 0.5, 2) == 3);  // not apart, but short
  CHECK(after(1, 2, 0, 1) == 1);    // the shortest
  CHECK(after(3, 0, 4, 4) == 3);    // nobody had samples in the last step
  CHECK(after(3, NAN, 4, 4) == 3);
}

TEST_CASE("a lazy delay's state is restored, unless it is damaged", "[delay]") {
  const lazy_delay policy{.longest_interval = 5, .interval = 3, .newest = 17};
  lazy_delay other{.longest_interval = 5};
  other.restore(policy.state());
  CHECK(other.interval == 3);
  CHECK(other.newest == 17);
  for (const std::array<std::int64_t, 2> damaged : {std::array<std::int64_t, 2>{0, 3}, {6, 3}, {2, -2}})
    CHECK_THROWS_WITH(other.restore(damaged),
                      "syncopate: the checkpoint is damaged: it holds no state of such a lazy_delay");
}

TEST_CASE("a lazy delay refuses intervals that are none", "[delay]") {
  CHECK_NOTHROW(lazy_delay{}.validate());
  CHECK_THROWS_AS(lazy_delay{.longest_interval = 0}.validate(), configuration_error);
  CHECK_THROWS_WITH((lazy_delay{.longest_interval = 2, .interval = 3}.validate()),
                    Catch::StartsWith("syncopate: lazy_delay.interval must be a whole number from 1 to 2"));
}
