#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "../../error.hpp"
#include "../bodies.hpp"
#include "../elements/state_visitor.hpp"

namespace syncopate::detail {

/// What a checkpoint has to have in common with the scheme that it is loaded into.
struct checkpoint_facts {
  std::int64_t version;
  std::uint64_t scheme;  ///< hash of the policies' types
  std::int64_t tensors;
  std::uint64_t layout;  ///< hash of their sizes and element types
  std::int64_t most_in_flight;
  std::uint64_t schedule;  ///< hash of what the delay policy decides
  std::uint64_t bucket_bytes;
  std::int64_t ranks, rank;

  /// Writes them, or reads those of a checkpoint. Throws `checkpoint_error` where these are others.
  void serialise(state_visitor& visitor) const;
};

#if SYNCOPATE_BODIES

SYNCOPATE_FUNCTION void checkpoint_facts::serialise(state_visitor& visitor) const {
  constexpr std::int64_t format = 2;                  // raised where what is kept, or its order, changes
  constexpr std::int64_t magic = 0x53594e434f504154;  // "SYNCOPAT": it is a checkpoint
  const std::array<std::int64_t, 11> here{magic,
                                          format,
                                          version,
                                          static_cast<std::int64_t>(scheme),
                                          tensors,
                                          static_cast<std::int64_t>(layout),
                                          most_in_flight,
                                          static_cast<std::int64_t>(schedule),
                                          static_cast<std::int64_t>(bucket_bytes),
                                          ranks,
                                          rank};
  std::array<std::int64_t, 11> found = here;
  for (std::int64_t& fact : found) visitor.number(fact);
  const auto numbers = [&](std::size_t fact) {
    return std::to_string(found[fact]) + ", not " + std::to_string(here[fact]);
  };
  const std::array<std::string, 11> refusals{"is none of syncopate's",
                                             "has a format of number " + numbers(1),
                                             "was written by version " + numbers(2) + " of the library",
                                             "belongs to a scheme of other policies",
                                             "has a number of tensors of " + numbers(4),
                                             "belongs to tensors of other sizes or types",
                                             "belongs to a delay with a number of messages in flight of " + numbers(6),
                                             "belongs to another delay policy, or one with other parameters",
                                             "belongs to buckets with a number of bytes of " + numbers(8),
                                             "belongs to a number of ranks of " + numbers(9),
                                             "was written by rank " + numbers(10)};
  for (std::size_t fact = 0; fact < here.size(); ++fact)
    if (found[fact] != here[fact]) throw checkpoint_error("syncopate: the checkpoint " + refusals[fact]);
}

#endif

}  // namespace syncopate::detail
