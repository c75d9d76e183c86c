#pragma once

#include <bit>
#include <cstdint>
#include <string_view>

namespace syncopate::detail {

/// FNV-1a; goes on from `hash`.
constexpr std::uint64_t hash_of(std::string_view text, std::uint64_t hash = 14695981039346656037u) {
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211u;
  return hash;
}

/// Goes on from `mixed`: every bit of both changes about half of the result's bits.
constexpr std::uint64_t mix(std::uint64_t mixed, std::uint64_t word) {
  mixed = (mixed ^ word) * 0xff51afd7ed558ccdu;
  return mixed ^ mixed >> 32;
}

/// Of a number's value: all NaN are alike.
constexpr std::uint64_t mix(std::uint64_t mixed, double number) {
  return mix(mixed, number == number ? std::bit_cast<std::uint64_t>(number) : ~std::uint64_t{0});
}

}  // namespace syncopate::detail
