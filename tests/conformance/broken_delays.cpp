// For each law of delay policies one that breaks it.
#include <array>
#include <catch2/catch.hpp>
#include <cstdint>

#include "syncopate/conformance.hpp"
#include "verdict.hpp"

using namespace syncopate;
using support::verdict;
using law = conformance_law;

namespace {

/// Launches at every step; derived policies say when messages are due.
struct every_step {
  static constexpr bool launches_every_step = true;
  static bool launches(std::int64_t) { return true; }
  static std::int64_t most_in_flight() { return 1000; }
};

struct due_once : every_step {
  static bool due(std::int64_t launched, std::int64_t step) { return step - launched == 2; }
};

/// Messages of odd steps take longer than the next one.
struct overtaking : every_step {
  static bool due(std::int64_t launched, std::int64_t step) { return step - launched >= (launched % 2 ? 4 : 1); }
};

struct too_many : every_step {
  static bool due(std::int64_t launched, std::int64_t step) { return step - launched >= 3; }
  static std::int64_t most_in_flight() { return 2; }
};

struct impossible : too_many {
  static std::int64_t most_in_flight() { return -1; }
};

struct sometimes_pauses : every_step {
  static bool launches(std::int64_t step) { return step != 40; }
  static bool due(std::int64_t launched, std::int64_t step) { return step > launched; }
};

/// A message leaves at every third call.
struct counts_calls {
  mutable std::int64_t calls = 0;
  bool launches(std::int64_t) const { return ++calls % 3 == 1; }
  static bool due(std::int64_t launched, std::int64_t step) { return step > launched; }
  static std::int64_t most_in_flight() { return 1; }
};

/// Learns to wait longer, and forgets to say so.
struct forgets {
  std::int64_t interval = 1, waited = 0;
  bool launches(std::int64_t step) const { return step % interval == interval - 1; }
  static bool due(std::int64_t, std::int64_t) { return true; }
  static std::int64_t most_in_flight() { return 0; }
  void observe(const training_signal&) { interval = ++waited > 3 ? 2 : 1; }
  std::array<std::int64_t, 1> state() const { return {waited}; }
  void restore(const std::array<std::int64_t, 1>& state) { waited = state[0]; }
};

}  // namespace

TEST_CASE("Delay policies that break a law", "[conformance]") {
  CHECK(verdict(check_conformance(due_once{}), law::due_remains) ==
        "the message of step 0 is due at step 2, but not at step 3");
  CHECK(verdict(check_conformance(overtaking{}), law::due_in_order) ==
        "the message of step 2 is due at step 3, but the message of step 1 is not");
  CHECK(verdict(check_conformance(too_many{}), law::most_in_flight) == "after step 2 there are 3, but it says 2");
  CHECK(verdict(check_conformance(impossible{}), law::most_in_flight) ==
        "it says -1, but only 0 to 65536 are possible");
  CHECK(verdict(check_conformance(sometimes_pauses{}), law::launches_every_step) == "no message leaves at step 40");
  CHECK(verdict(check_conformance(counts_calls{}), law::reproducible) ==
        "asked in another order, it decides differently");
  CHECK(verdict(check_conformance(forgets{}), law::resumed) ==
        "after 5 steps, restored from its state, it decides differently");
  CHECK(verdict(check_conformance(fixed_delay{-1}), law::training_ends) ==
        "a call ended with \"syncopate: fixed_delay.delay must be a whole number from 0 to 2147483647, but is -1\"");
}

TEST_CASE("A delay policy that breaks one law keeps the others", "[conformance]") {
  CHECK(check_conformance(too_many{}).broken().size() == 1);
  CHECK(check_conformance(sometimes_pauses{}).broken().size() == 1);
  CHECK(check_conformance(overtaking{}).broken().size() == 1);
}
