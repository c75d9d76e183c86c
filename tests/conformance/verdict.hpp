#pragma once

#include <algorithm>
#include <string>

#include "syncopate/conformance_report.hpp"

namespace support {

/// What a report says of a law: where it is broken, or that it holds, or that it was not checked.
inline std::string verdict(const syncopate::conformance_report& report, syncopate::conformance_law law) {
  for (const auto& broken : report.broken())
    if (broken.law == law) return broken.text;
  return std::ranges::find(report.checked(), law) == report.checked().end() ? "not checked" : "holds";
}

}  // namespace support
