#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "../../error.hpp"
#include "../../scheme_options.hpp"
#include "../bodies.hpp"
#include "../by_rank.hpp"
#include "../elements/mix.hpp"
#include "../exchange/wire.hpp"
#include "../validate.hpp"
#include "layout.hpp"

/// What ranks tell each other once, at construction, so that a disagreement is an error on all of them and not a hang.
namespace syncopate::detail {

/// `scheme_options` with which ranks can disagree.
struct option_facts {
  std::uint64_t bucket_bytes = 0;
  std::uint64_t gradients = 0;
  std::uint64_t clip = 0;
  double largest_norm = 0;
  std::uint64_t optional_layers = 0;
  std::uint64_t optional_layers_hash = 0;
  std::uint64_t observes_gradients = 0;
  std::uint64_t factored_layers = 0;
  std::uint64_t factored_layers_hash = 0;

  option_facts() = default;
  explicit option_facts(const scheme_options& options)
      : bucket_bytes(options.bucket_bytes),
        gradients(static_cast<std::uint64_t>(options.non_finite_gradients)),
        clip(static_cast<std::uint64_t>(options.clip)),
        largest_norm(options.largest_norm),
        optional_layers(options.optional_layers.size()),
        observes_gradients(options.observes_gradients),
        factored_layers(options.factored_layers.size()) {
    for (const factored_layer& layer : options.factored_layers)
      for (const std::size_t number :
           {layer.layer, layer.inputs, layer.outputs, layer.largest_batch, static_cast<std::size_t>(layer.exchange)})
        factored_layers_hash = hash_of(std::to_string(number), factored_layers_hash);
    factored_layers_hash = hash_of(detail::text(options.words_per_operation), factored_layers_hash);
    for (const std::size_t layer : options.optional_layers)
      optional_layers_hash = hash_of(std::to_string(layer), optional_layers_hash);
  }

  friend bool operator==(const option_facts&, const option_facts&) = default;

  std::string text() const {
    constexpr const char* treatments[] = {"refused", "skipped", "ignored"};
    constexpr const char* places[] = {"after", "before"};
    const bool clips = largest_norm <= std::numeric_limits<double>::max();
    return std::to_string(bucket_bytes) + " bytes per bucket, non-finite gradients " + treatments[gradients] +
           (clips ? ", norms of at most " + detail::text(largest_norm) + " " + places[clip] + " averaging" : "") +
           (observes_gradients ? ", norms of gradients observed" : "") +
           (factored_layers > 0 ? ", " + std::to_string(factored_layers) + " factored layers (hash " +
                                      std::to_string(factored_layers_hash) + ")"
                                : "") +
           (optional_layers > 0 ? ", " + std::to_string(optional_layers) + " optional layers (hash " +
                                      std::to_string(optional_layers_hash) + ")"
                                : "");
  }
};

/// What one rank says of its scheme.
struct scheme_facts {
  std::int64_t version;
  std::uint64_t scheme;  ///< hash of the policies' types
  std::int64_t most_in_flight;
  std::uint64_t schedule;         ///< hash of what the delay policy decides
  std::uint64_t hyperparameters;  ///< hash of their values
  option_facts options;
  std::uint64_t tensors;
  std::uint64_t fault_of_layout;  ///< whether `fault` concerns tensors
  std::array<char, 456> fault;    ///< what is wrong with this rank's arguments, as text that ends with a zero
};

/// Collective. Everyone's, in the order of ranks.
template <class Ranks, class T>
std::vector<T> gather(Ranks& ranks, std::span<const T> own) {
  std::vector<T> all(own.size() * static_cast<std::size_t>(ranks.size()));
  ranks.all_gather(std::as_bytes(own), std::as_writable_bytes(std::span(all)));
  return all;
}
/// Likewise, of one fact.
template <class Ranks, class T>
std::vector<T> gather_one(Ranks& ranks, const T& own) {
  return gather(ranks, std::span<const T>(&own, 1));
}

/// Collective. The sum of one number of each rank, in the order of ranks.
inline double total(wire& ranks, double own) {
  double sum = 0;
  for (const double other : gather_one(ranks, own)) sum += other;
  return sum;
}

/// Collective. Throws `Error` on every rank, if some rank has a fault, with the text of the first one that has.
template <class Error, class Ranks>
void agree_on_fault(Ranks& ranks, const std::string& fault) {
  using text = std::array<char, 512>;  // ends with a zero
  text own{};
  fault.copy(own.data(), own.size() - 1);
  const auto all = gather_one(ranks, own);
  for (std::size_t rank = 0; rank < all.size(); ++rank)
    if (all[rank][0] != 0)
      throw Error(all[rank].data() + (all.size() > 1 ? " (rank " + std::to_string(rank) + ")" : ""));
}

/// Collective. Throws the same error on every rank where ranks disagree or where one of them has a fault.
void agree(wire& on, const scheme_facts& own, std::span<const tensor_facts> tensors);

#if SYNCOPATE_BODIES

SYNCOPATE_FUNCTION void agree(wire& on, const scheme_facts& own, std::span<const tensor_facts> tensors) {
  const int ranks = on.size();
  const auto all = gather_one(on, own);
  const auto of = [&](int rank) -> const scheme_facts& { return all[static_cast<std::size_t>(rank)]; };
  const auto differ = [&](auto member) {
    for (const scheme_facts& other : all)
      if (!(other.*member == own.*member)) return true;
    return false;
  };

  for (int rank = 0; rank < ranks; ++rank)
    if (of(rank).fault[0] != 0) {
      const std::string text = of(rank).fault.data() + (ranks > 1 ? " (rank " + std::to_string(rank) + ")" : "");
      if (of(rank).fault_of_layout) throw layout_error(text);
      throw configuration_error(text);
    }
  if (differ(&scheme_facts::version))
    throw configuration_error("syncopate: ranks were built with different versions of the library: " +
                              by_rank(ranks, [&](int r) { return std::to_string(of(r).version); }));

  // Lengths may differ, so the shorter layouts are padded before they are compared.
  std::uint64_t longest = 0;
  for (const scheme_facts& f : all) longest = longest < f.tensors ? f.tensors : longest;
  std::vector<tensor_facts> padded(tensors.begin(), tensors.end());
  padded.resize(longest, tensor_facts{0, 0});
  const auto layouts = gather(on, std::span<const tensor_facts>(padded));
  for (std::size_t t = 0; t < longest; ++t) {
    const auto at = [&](int rank) { return layouts[static_cast<std::size_t>(rank) * longest + t]; };
    for (int rank = 1; rank < ranks; ++rank)
      if (at(rank) != at(0))
        throw layout_error(
            "syncopate: ranks have different layouts, first at tensor " + std::to_string(t) + ": " +
            by_rank(ranks, [&](int r) { return at(r).element_bytes == 0 ? "no such tensor" : at(r).text(); }));
  }

  if (differ(&scheme_facts::scheme))
    throw configuration_error("syncopate: ranks were given different schemes: " +
                              by_rank(ranks, [&](int r) { return "scheme " + std::to_string(of(r).scheme); }));
  if (differ(&scheme_facts::most_in_flight))
    throw configuration_error("syncopate: ranks were given different delays: " + by_rank(ranks, [&](int r) {
                                return std::to_string(of(r).most_in_flight) + " messages in flight";
                              }));
  if (differ(&scheme_facts::schedule))
    throw configuration_error("syncopate: ranks were given different delays: " +
                              by_rank(ranks, [&](int r) { return "schedule " + std::to_string(of(r).schedule); }));
  if (differ(&scheme_facts::hyperparameters))
    throw configuration_error("syncopate: ranks were given different hyper-parameters: " +
                              by_rank(ranks, [&](int r) { return "values " + std::to_string(of(r).hyperparameters); }));
  if (differ(&scheme_facts::options))
    throw configuration_error("syncopate: ranks were given different options: " +
                              by_rank(ranks, [&](int r) { return of(r).options.text(); }));
}

#endif

}  // namespace syncopate::detail
