#pragma once

#include <catch2/catch.hpp>
#include <cstddef>

#include "syncopate/conformance.hpp"

namespace support {

/// Checks that a policy keeps the laws, and that at least so many were asked.
template <class P, class... Members>
void conforms(std::size_t laws, const P& policy, Members... hyper_parameters) {
  const auto report = syncopate::check_conformance(policy, {}, hyper_parameters...);
  INFO(report.text());
  CHECK(report);
  CHECK(report.checked().size() >= laws);
}

}  // namespace support
