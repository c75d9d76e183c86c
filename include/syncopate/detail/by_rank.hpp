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

/// "rank 0: …; ranks 1, 2: …": groups ranks by what is said of each.
inline std::string by_rank(const std::vector<std::string>& texts) {
  std::vector<std::string> said;
  std::vector<std::vector<int>> by;
  for (std::size_t rank = 0; rank < texts.size(); ++rank) {
    const auto found = std::find(said.begin(), said.end(), texts[rank]);
    if (found == said.end()) {
      said.push_back(texts[rank]);
      by.push_back({static_cast<int>(rank)});
    } else {
      by[static_cast<std::size_t>(found - said.begin())].push_back(static_cast<int>(rank));
    }
  }
  std::string result;
  for (std::size_t group = 0; group < said.size(); ++group) {
    if (group > 0) result += "; ";
    result += list_of_ranks(by[group]) + ": " + said[group];
  }
  return result;
}

/// The same of what `describe(rank)` says.
template <class Describe>
std::string by_rank(int ranks, Describe describe) {
  std::vector<std::string> texts;
  for (int rank = 0; rank < ranks; ++rank) texts.push_back(describe(rank));
  return by_rank(texts);
}

}  // namespace syncopate::detail
