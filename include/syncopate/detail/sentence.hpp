#pragma once

#include <string>

namespace syncopate::detail {

/// An error's text as a part of another one's: without "syncopate: ".
inline std::string as_clause(const std::string& text) {
  const std::string prefix = "syncopate: ";
  return text.starts_with(prefix) ? text.substr(prefix.size()) : text;
}

}  // namespace syncopate::detail
