// For each law a predictor, rule, merge or averaging that breaks it, and what the report says. Most know only floats,
// so that they are compiled once.
#include <atomic>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>
#include <variant>
#include <vector>

#include "syncopate/conformance.hpp"
#include "verdict.hpp"

using namespace syncopate;
using Catch::Matchers::Contains;
using Catch::Matchers::StartsWith;
using support::verdict;
using law = conformance_law;

namespace {

/// Fails at the sixth update.
struct tires {
  static int prepare(std::int64_t count) {
    if (count == 5) throw std::runtime_error("too tired");
    return 0;
  }
  void apply(float& weight, float gradient, int) const { weight -= gradient; }
};

/// Divides by one step more than the mean is old, and one more.
struct counts_from_two {
  sgd rule;
  template <class T>
  constexpr T message(T, T gradient) const {
    return gradient;
  }
  template <class T>
  constexpr void absorb(T& weight, const landed<T>& m, const auto& with) const {
    with.rule(weight, m.mean / T(2 + m.staleness));
  }
};

/// Rounds, where the two weights are equal.
struct unfused_elastic {
  float merge(float weight, const landed<float>& m) const { return 0.3F * weight + 0.7F * m.mean; }
};

/// Counts calls, on all ranks together.
struct counts_calls {
  static inline std::atomic<unsigned> calls{0};
  static constexpr bool looks_ahead_only = true;
  float predict(const landed<float>& m) const { return m.mean * static_cast<float>(++calls % 5); }
};

/// Commits what differs between ranks.
struct commits_own {
  static constexpr bool keeps_own = true;
  float predict(const landed<float>& m) const { return 0.5F * (m.mean + m.own); }
};

/// Mixes each parameter with the one that was computed before.
struct smears {
  static inline thread_local float last = 0;
  void apply(float& weight, float gradient) const {
    weight -= gradient + last;
    last = gradient;
  }
};

/// Keeps the history in a vector of its own, and finds its place there by counting calls.
struct hides_history {
  static constexpr bool looks_ahead_only = true;
  static inline thread_local std::vector<float> history = std::vector<float>(562);
  static inline thread_local std::size_t calls = 0;
  float predict(const landed<float>& m) const {
    float& last = history[calls++ % history.size()];
    const float predicted = m.mean + (m.mean - last);
    last = m.mean;
    return predicted;
  }
};

/// Remembers where gradients were, and reads them when the mean has arrived.
struct reads_later {
  static inline thread_local std::vector<const float*> addresses{};
  static inline thread_local std::size_t next = 0;
  float message(float, const float& gradient) const {
    addresses.push_back(&gradient);
    return gradient;
  }
  void absorb(float& weight, const landed<float>& m, const auto&) const {
    weight -= m.mean + (next < addresses.size() ? *addresses[next++] : 0);
  }
};

/// 0 / 0 for a parameter that has never had a gradient.
struct divides_by_zero {
  static constexpr std::size_t state_vectors = 1;
  template <class T>
  void apply(T& weight, T gradient, T& square) const {
    square += gradient * gradient;
    weight -= gradient / std::sqrt(square);
  }
};

struct forgets_to_declare {
  static constexpr bool looks_ahead_only = true;
  float predict(const landed<float>& m) const { return m.mean + (m.own - m.mean) + (m.weight - m.weight_then); }
};

struct merges_undeclared {
  float merge(float weight, const landed<float>& m) const { return m.mean + (weight - m.own); }
};

/// The first update is another alternative.
struct changes_its_mind {
  struct first {};
  struct later {};
  std::variant<first, later> prepare(std::int64_t count) const {
    if (count == 0) return first{};
    return later{};
  }
  void apply(float& weight, float gradient, const first&) const { weight -= gradient; }
  void apply(float& weight, float gradient, const later&) const { weight -= gradient; }
};

/// Its threshold depends on the element type.
struct depends_on_type {
  template <class T>
  void apply(T& weight, T gradient) const {
    const T threshold = T(1e6) * std::numeric_limits<T>::epsilon();
    weight -= std::abs(gradient) > threshold ? gradient : T(0);
  }
};

/// A NaN is not below 0, and infinity neither.
struct trusts {
  double rate = 0.5, limit = 1;
  void apply(float& weight, float gradient) const { weight -= static_cast<float>(rate) * gradient; }
  void validate() const {
    if (rate < 0) throw configuration_error("negative");
    if (!(limit > 0) || std::isinf(limit)) throw std::invalid_argument("another type");
  }
};

}  // namespace

TEST_CASE("Training that throws", "[conformance]") {
  const auto report = check_conformance(tires{});
  CHECK(verdict(report, law::training_ends) ==
        "in gradient_averaging of floats at delay 0 on 1 rank, it ended with \"too tired\"");
  CHECK_THAT(report.text(), Contains("- training ends without an exception: in gradient_averaging"));
}

TEST_CASE("Delay 0 that is not synchronous", "[conformance]") {
  CHECK_THAT(
      verdict(check_conformance(counts_from_two{}), law::delay_zero),
      StartsWith("in the averaging of floats at delay 0 on 1 rank, after step 0 the weight of parameter 0 on rank 0 "
                 "is ") &&
          Contains(" at delay 0, but ") && Contains(" in synchronous training"));
  CHECK_THAT(verdict(check_conformance(unfused_elastic{}), law::delay_zero),
             StartsWith("in weight_averaging of floats at delay 0 on 1 rank, after step "));
}

TEST_CASE("Calls that are counted", "[conformance]") {
  const auto report = check_conformance(counts_calls{});
  CHECK_THAT(verdict(report, law::reproducible),
             StartsWith("in lookahead_averaging of floats at delay 1 on ") && Contains(" the second time, but "));
  CHECK_THAT(verdict(report, law::equal_ranks),
             Contains("at delay 1 on 2 ranks") && Contains(" here, but ") && Contains(" on one rank"));
}

TEST_CASE("Ranks that drift apart", "[conformance]") {
  const auto report = check_conformance(commits_own{});
  CHECK_THAT(verdict(report, law::ranks_agree),
             StartsWith("in gradient_averaging of floats at delay 1 on 2 ranks, after step 1 the true weight of "
                        "parameter 0 is ") &&
                 Contains(" on rank 0, but ") && Contains(" on rank 1"));
  CHECK(verdict(report, law::delay_zero) == "holds");
  CHECK(verdict(report, law::reproducible) == "holds");
  CHECK(verdict(report, law::equal_ranks) == "holds");
}

TEST_CASE("Parameters that depend on each other", "[conformance]") {
  const auto report = check_conformance(smears{});
  CHECK_THAT(verdict(report, law::element_wise), Contains(" in another order, but ") && Contains(" in order"));
  CHECK_THAT(verdict(report, law::buckets),
             Contains(" with a message per tensor, but ") && Contains(" with one for all"));
}

TEST_CASE("A history that is not declared", "[conformance]") {
  const auto report = check_conformance(hides_history{});
  CHECK_THAT(verdict(report, law::declared_state),
             StartsWith("in lookahead_averaging of floats at delay 1 on 1 rank") &&
                 Contains(" in turns with another training, but ") && Contains(" alone"));
  CHECK_THAT(verdict(report, law::resumed),
             Contains(" is ") && Contains(" resumed after ") && Contains(" steps, but ") && Contains(" uninterrupted"));
  CHECK(verdict(report, law::reproducible) == "holds");
}

TEST_CASE("A gradient that is read too late", "[conformance]") {
  CHECK_THAT(verdict(check_conformance(reads_later{}), law::gradient_copied),
             Contains(" where the gradient is left as it was, but ") && Contains(" where it is overwritten"));
}

TEST_CASE("Weights that are not finite", "[conformance]") {
  const auto report = check_conformance(divides_by_zero{});
  CHECK_THAT(
      verdict(report, law::finite),
      StartsWith("in gradient_averaging of floats at delay 0 on 2 ranks, after step 0 the weight of parameter 0 is "
                 "-nan") ||
          StartsWith("in gradient_averaging of floats at delay 0 on 2 ranks, after step 0 the weight of parameter "
                     "0 is nan"));
  CHECK(report.broken().size() == 1);
}

TEST_CASE("Facts that are not declared", "[conformance]") {
  CHECK(verdict(check_conformance(forgets_to_declare{}), law::declared_facts) ==
        "predict depends on landed::own, but keeps_own is not declared, so that it is always zero");
  CHECK(verdict(check_conformance(merges_undeclared{}), law::declared_facts) ==
        "merge depends on landed::own, but keeps_own is not declared, so that it is always zero");
}

TEST_CASE("Alternatives that depend on the count", "[conformance]") {
  CHECK(verdict(check_conformance(changes_its_mind{}), law::same_alternative) ==
        "prepare(0) returns alternative 0, but prepare(1) alternative 1");
}

TEST_CASE("Formulas that depend on the element type", "[conformance]") {
  const auto report = check_conformance(depends_on_type{});
  CHECK_THAT(verdict(report, law::element_types),
             StartsWith("in gradient_averaging at delay 0 on 2 ranks, after step ") && Contains(" in float, but ") &&
                 Contains(" in double, on rank 0"));
  CHECK(report.broken().size() == 1);
  CHECK(verdict(check_conformance(smears{}), law::element_types) == "gradient_averaging does not compile with doubles");
}

TEST_CASE("Hyper-parameters that are not checked", "[conformance]") {
  const auto report = check_conformance(trusts{}, {}, &trusts::rate, &trusts::limit);
  CHECK(verdict(report, law::hyper_parameters) == "it accepts hyper-parameter 1 as nan");
  CHECK(verdict(check_conformance(trusts{}, {}, &trusts::limit), law::hyper_parameters) ==
        "it refuses hyper-parameter 1 as nan with \"another type\", which is no configuration_error");
  CHECK(verdict(check_conformance(trusts{}), law::hyper_parameters) == "not checked");
}

TEST_CASE("Hyper-parameters that are refused", "[conformance]") {
  CHECK_THAT(verdict(check_conformance(trusts{.rate = -1}), law::training_ends), Contains("negative"));
}
