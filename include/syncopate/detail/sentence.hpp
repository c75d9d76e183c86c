#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace syncopate::detail {

/// An error's text, to be part of another one's.
inline std::string_view without_prefix(std::string_view text) {
  constexpr std::string_view prefix = "syncopate: ";
  return text.starts_with(prefix) ? text.substr(prefix.size()) : text;
}

/// "step 7 (bucket 2 of 3)".
inline std::string text_of_message(std::int64_t step, std::size_t bucket, std::size_t buckets) {
  return "step " + std::to_string(step) + " (bucket " + std::to_string(bucket) + " of " + std::to_string(buckets) + ")";
}

}  // namespace syncopate::detail
