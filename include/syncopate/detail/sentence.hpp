#pragma once

#include <string_view>

namespace syncopate::detail {

/// An error's text, to be part of another one's.
inline std::string_view without_prefix(std::string_view text) {
  constexpr std::string_view prefix = "syncopate: ";
  return text.starts_with(prefix) ? text.substr(prefix.size()) : text;
}

}  // namespace syncopate::detail
