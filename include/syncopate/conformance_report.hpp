#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace syncopate {

/// What `check_conformance` demands.
enum class conformance_law {
  training_ends,
  delay_zero,
  equal_ranks,
  ranks_agree,
  reproducible,
  buckets,
  element_wise,
  gradient_copied,
  finite,
  all_absorbed,
  declared_state,
  resumed,
  declared_facts,
  same_alternative,
  element_types,
  hyper_parameters,
  due_remains,
  due_in_order,
  most_in_flight,
  launches_every_step
};

/// The law as a sentence.
constexpr std::string_view sentence(conformance_law law) {
  switch (law) {
    case conformance_law::training_ends:
      return "training ends without an exception";
    case conformance_law::delay_zero:
      return "delay 0 is synchronous training, bitwise";
    case conformance_law::equal_ranks:
      return "ranks with equal data train as one rank does, bitwise";
    case conformance_law::ranks_agree:
      return "the true weights are bitwise equal on all ranks after each step";
    case conformance_law::reproducible:
      return "the same inputs give the same outputs, bitwise";
    case conformance_law::buckets:
      return "the result does not depend on the size of messages, bitwise";
    case conformance_law::element_wise:
      return "each parameter is computed by itself, in whatever order and pieces, bitwise";
    case conformance_law::gradient_copied:
      return "the gradient may be overwritten as soon as the step returns";
    case conformance_law::finite:
      return "weights stay finite, also from zero gradients and without history";
    case conformance_law::all_absorbed:
      return "after finish as many means were absorbed as messages were launched";
    case conformance_law::declared_state:
      return "all history is in the state vectors that are declared";
    case conformance_law::resumed:
      return "training that was saved in any phase and resumed is the uninterrupted one, bitwise";
    case conformance_law::declared_facts:
      return "a formula reads no fact of landed that it does not declare";
    case conformance_law::same_alternative:
      return "which alternative prepare returns does not depend on the count";
    case conformance_law::element_types:
      return "float and double both work, and agree to the precision of float";
    case conformance_law::hyper_parameters:
      return "validate refuses hyper-parameters that are not finite";
    case conformance_law::due_remains:
      return "a message that is due stays due";
    case conformance_law::due_in_order:
      return "messages become due in the order in which they left";
    case conformance_law::most_in_flight:
      return "no more messages are in flight than most_in_flight says";
    case conformance_law::launches_every_step:
      return "launches_every_step is true where it is declared";
  }
  return "no law";
}

/// What `check_conformance` found. True if all laws that were checked hold.
class conformance_report {
 public:
  struct broken_law {
    conformance_law law;
    std::string text;       ///< where it was broken first, with the numbers
    std::size_t times = 1;  ///< in how many trials
  };

  explicit operator bool() const { return broken_.empty(); }

  const std::vector<broken_law>& broken() const { return broken_; }
  const std::vector<conformance_law>& checked() const { return checked_; }

  /// A line that sums up, and one for each law that is broken.
  std::string text() const {
    const std::string all = std::to_string(checked_.size()) + (checked_.size() == 1 ? " law" : " laws");
    if (broken_.empty()) return "syncopate: " + all + " checked, none broken\n";
    std::string result = "syncopate: " + all + " checked, " + std::to_string(broken_.size()) + " broken\n";
    for (const broken_law& b : broken_) {
      result += "- " + std::string(sentence(b.law)) + ": " + b.text;
      if (b.times > 1) result += " (and in " + std::to_string(b.times - 1) + " more trials)";
      result += "\n";
    }
    return result;
  }

  /// Notes that a law was checked in one trial, and how it was broken, unless `found` is empty.
  void note(conformance_law law, std::string found) {
    if (std::ranges::find(checked_, law) == checked_.end()) checked_.push_back(law);
    if (found.empty()) return;
    const auto known = std::ranges::find(broken_, law, &broken_law::law);
    if (known == broken_.end())
      broken_.push_back({law, std::move(found)});
    else
      ++known->times;
  }

 private:
  std::vector<broken_law> broken_;
  std::vector<conformance_law> checked_;
};

}  // namespace syncopate
