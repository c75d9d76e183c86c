#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

#include "../error.hpp"
#include "collective_call.hpp"
#include "sentence.hpp"

/// What is said of ranks that fail, or do not come.
namespace syncopate::detail {

inline std::string text_of_peer_failure(int rank, std::string_view what) {
  return std::string("syncopate: rank ")
      .append(std::to_string(rank))
      .append(" failed while other ranks depended on it")
      .append(what.empty() ? "" : ": ")
      .append(without_prefix(what));
}

/// The beginning of a sentence, which goes on with who is missing.
inline std::string text_of_stall(std::chrono::duration<double> limit, const collective_call& call,
                                 std::int64_t number) {
  char seconds[32] = "";
  std::snprintf(seconds, sizeof seconds, "%g", limit.count());
  return std::string("syncopate: nothing moved for ") + seconds + " s in " + call.text() + ", operation " +
         std::to_string(number) + " of its channel: ";
}

inline void validate_stall_limit(double seconds, const std::string& whose) {
  if (!(std::isfinite(seconds) && seconds >= 0))
    throw configuration_error("syncopate: the " + whose + " must be at least 0 and finite, not " +
                              std::to_string(seconds));
}

/// For clocks, which a limit next to infinity must not overflow; three years are as good. 0: no limit.
inline std::chrono::steady_clock::duration stall_limit(double seconds) {
  return std::chrono::ceil<std::chrono::steady_clock::duration>(
      std::chrono::duration<double>(seconds > 0 ? std::min(seconds, 1e8) : 0.));
}

}  // namespace syncopate::detail
