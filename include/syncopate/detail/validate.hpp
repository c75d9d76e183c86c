#pragma once

#include <charconv>
#include <concepts>
#include <limits>
#include <string>
#include <string_view>
#include <type_traits>

#include "../error.hpp"

/// One readable line per check of a hyper-parameter. Each throws `configuration_error` with a sentence that names the
/// hyper-parameter and the value it was given; a NaN or an infinity satisfies none of them.
namespace syncopate::detail {

template <class Number>
concept Hyperparameter = std::floating_point<Number> || std::integral<Number>;

/// The shortest text that reads back as the same number: 0.1, not 0.10000000000000001.
template <Hyperparameter Number>
std::string text(Number value) {
  char buffer[32];
  return std::string(buffer, std::to_chars(buffer, buffer + sizeof buffer, value).ptr);
}

template <Hyperparameter Number>
[[noreturn]] void refuse(Number value, std::string_view name, const std::string& expectation) {
  constexpr const char* kind = std::floating_point<Number> ? "a finite number " : "a whole number ";
  throw configuration_error("syncopate: " + std::string(name) + " must be " + kind + expectation + ", but is " +
                            text(value));
}

template <Hyperparameter Number>
void require_at_least(Number value, std::type_identity_t<Number> lowest, std::string_view name) {
  if (!(lowest <= value && value <= std::numeric_limits<Number>::max()))
    refuse(value, name, "of at least " + text(lowest));
}

template <Hyperparameter Number>
void require_above(Number value, std::type_identity_t<Number> bound, std::string_view name) {
  if (!(bound < value && value <= std::numeric_limits<Number>::max())) refuse(value, name, "above " + text(bound));
}

/// lowest ≤ value ≤ highest.
template <Hyperparameter Number>
void require_between(Number value, std::type_identity_t<Number> lowest, std::type_identity_t<Number> highest,
                     std::string_view name) {
  if (!(lowest <= value && value <= highest)) refuse(value, name, "from " + text(lowest) + " to " + text(highest));
}

/// lowest ≤ value < bound.
template <Hyperparameter Number>
void require_below(Number value, std::type_identity_t<Number> lowest, std::type_identity_t<Number> bound,
                   std::string_view name) {
  if (!(lowest <= value && value < bound))
    refuse(value, name, "of at least " + text(lowest) + " and below " + text(bound));
}

/// lowest < value ≤ highest.
template <Hyperparameter Number>
void require_positive_share(Number value, std::type_identity_t<Number> highest, std::string_view name) {
  if (!(0 < value && value <= highest)) refuse(value, name, "above 0 and at most " + text(highest));
}

}  // namespace syncopate::detail
