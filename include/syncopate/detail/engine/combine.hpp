#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "../../combination.hpp"
#include "../../error.hpp"
#include "../by_rank.hpp"
#include "../exchange/wire.hpp"
#include "agreement.hpp"

namespace syncopate::detail {

/// Collective. Combines ranks' buffers, in the order of ranks; see `update_scheme::combine`.
template <class T>
void combine(wire& ranks, std::span<T> own, combination how) {
  using facts = std::array<std::uint64_t, 4>;
  const facts here{own.size(), sizeof(T), std::is_integral_v<T>, static_cast<std::uint64_t>(how)};
  const auto all_facts = gather_one(ranks, here);
  if (std::any_of(all_facts.begin(), all_facts.end(), [&](const facts& other) { return other != here; }))
    throw layout_error("syncopate: ranks combine different buffers: " + by_rank(ranks.size(), [&](int rank) {
                         constexpr const char* names[] = {"average", "keep", "maximum"};
                         const facts& f = all_facts[static_cast<std::size_t>(rank)];
                         return std::string(names[f[3]]) + " of " + std::to_string(f[0]) +
                                (f[2] ? " integers of " : " numbers of ") + std::to_string(f[1]) + " bytes";
                       }));
  if (std::is_integral_v<T> && how == combination::average)
    throw configuration_error("syncopate: integers have no average that is one of them: keep, or maximum");
  if (how == combination::keep) return;

  const std::vector<T> all = gather(ranks, std::span<const T>(own));
  for (std::size_t i = 0; i < own.size(); ++i) {
    T result = all[i];
    for (std::size_t at = i + own.size(); at < all.size(); at += own.size())
      result = how == combination::maximum ? std::max(result, all[at]) : static_cast<T>(result + all[at]);
    own[i] = how == combination::maximum ? result : static_cast<T>(result / static_cast<T>(ranks.size()));
  }
}

}  // namespace syncopate::detail
