#pragma once

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
  std::string result;
  for (std::size_t first = 0; first < texts.size(); ++first) {
    std::size_t rank = 0;
    while (texts[rank] != texts[first]) ++rank;
    if (rank < first) continue;  // told with that one
    std::vector<int> ranks;
    for (; rank < texts.size(); ++rank)
      if (texts[rank] == texts[first]) ranks.push_back(static_cast<int>(rank));
    result += (result.empty() ? "" : "; ") + list_of_ranks(ranks) + ": " + texts[first];
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
