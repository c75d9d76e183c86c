// What a report says, and the comparisons behind it that no policy can break on purpose.
#include <catch2/catch.hpp>
#include <set>
#include <string>

#include "syncopate/conformance.hpp"

using namespace syncopate;
namespace kit = syncopate::detail::conformance;

TEST_CASE("A report sums up, and has a line for each law that is broken", "[conformance]") {
  conformance_report report;
  CHECK(report.text() == "syncopate: 0 laws checked, none broken\n");
  report.note(conformance_law::finite, "");
  CHECK(report.text() == "syncopate: 1 law checked, none broken\n");
  CHECK(report);
  report.note(conformance_law::delay_zero, "first");
  report.note(conformance_law::delay_zero, "second");
  report.note(conformance_law::delay_zero, "");
  CHECK(report.text() ==
        "syncopate: 2 laws checked, 1 broken\n"
        "- delay 0 is synchronous training, bitwise: first (and in 1 more trials)\n");
  CHECK_FALSE(report);
}

TEST_CASE("Each law has a sentence of its own", "[conformance]") {
  std::set<std::string> sentences;
  constexpr int laws = static_cast<int>(conformance_law::launches_every_step) + 1;
  for (int law = 0; law < laws; ++law) sentences.emplace(sentence(static_cast<conformance_law>(law)));
  CHECK(sentences.size() == laws);
  CHECK_FALSE(sentences.contains("no law"));
}

TEST_CASE("Means that were not absorbed are counted by rank", "[conformance]") {
  kit::trial_result result;
  result.launched = {12, 12};
  result.absorbed = {12, 12};
  CHECK(kit::not_absorbed(result).empty());
  result.absorbed = {12, 11};
  CHECK(kit::not_absorbed(result) == "12 messages were launched, but 11 absorbed, on rank 1");
}

TEST_CASE("The first difference of two trainings is described", "[conformance]") {
  kit::trial_result one{true, 2, {{1, 2, 3, 4}}, {{1, 2, 3, 4}}, {0}, {0}, ""}, other = one;
  CHECK(kit::difference(one, "here", other, "there").empty());
  other.weights[0][1] = 0.1F;
  CHECK(kit::difference(one, "here", other, "there") ==
        "after step 0 the weight of parameter 1 on rank 0 is 2 here, but 0.1 there");
  other = one;
  other.consensus[0][2] = -3;
  CHECK(kit::difference(one, "here", other, "there") ==
        "after finish the consensus of parameter 0 on rank 0 is 3 here, but -3 there");
  other.failure = "a fault";
  CHECK(kit::difference(one, "here", other, "there") == "training there ended with \"a fault\"");
  CHECK(kit::difference(other, "here", one, "there") == "training here ended with \"a fault\"");
}
