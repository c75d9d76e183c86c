#pragma once

#include <cstdint>
#include <span>

namespace syncopate::detail {

/// What a vector that a scheme keeps is there for.
enum class role { message, weights, predictor, rule, local_rule, merge, observed_sums };

/// Is shown everything that a scheme keeps, always in the same order: to write it, to read it, to count or to compare
/// it. Whoever keeps something names it once, in a member `serialise(state_visitor&)`.
class state_visitor {
 public:
  virtual ~state_visitor() = default;
  /// Whether what is kept becomes what was written before.
  virtual bool reads() const { return false; }
  /// A number, and a vector, that is kept.
  virtual void number(std::int64_t& kept) = 0;
  virtual void number(double& kept) = 0;
  /// `common`: whether it has to be bitwise the same on all ranks.
  virtual void vector(role of, bool common, std::span<float> kept) = 0;
  virtual void vector(role of, bool common, std::span<double> kept) = 0;

  /// A number of another type, by way of one of these.
  template <class Carrier, class Number>
  void as(Number& kept) {
    auto carried = static_cast<Carrier>(kept);
    number(carried);
    kept = static_cast<Number>(carried);
  }
};

}  // namespace syncopate::detail
