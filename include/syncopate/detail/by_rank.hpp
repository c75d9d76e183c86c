#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

namespace syncopate::detail {

/// "rank 1", "ranks 1, 2".
inline std::string list_of_ranks(const std::vector<int>& ranks) {
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (std::size_t i = 0; i < ranks.size(); ++i) text += (i ? ", " : "") + std::to_string(ranks[i]);
  return text;
}

/// "rank 0: …; ranks 1, 2: …": groups ranks by what `describe(rank)` says of them.
template <class Describe>
std::string by_rank(int ranks, Describe describe) {
  std::vector<std::string> said;
  std::vector<std::vector<int>> by;
  for (int rank = 0; rank < ranks; ++rank) {
    const std::string text = describe(rank);
    const auto found = std::find(said.begin(), said.end(), text);
    if (found == said.end()) {
      said.push_back(text);
      by.push_back({rank});
    } else {
      by[static_cast<std::size_t>(found - said.begin())].push_back(rank);
    }
  }
  std::string result;
  for (std::size_t group = 0; group < said.size(); ++group) {
    if (group > 0) result += "; ";
    result += list_of_ranks(by[group]) + ": " + said[group];
  }
  return result;
}

}  // namespace syncopate::detail
