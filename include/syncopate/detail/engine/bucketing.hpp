#pragma once

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "../bodies.hpp"
#include "../elements/slice.hpp"
#include "factored_layers.hpp"
#include "layout.hpp"
#if SYNCOPATE_BODIES
#include <algorithm>
#endif

namespace syncopate::detail {

/// Tensors that are to travel together.
struct planned_bucket {
  std::vector<slice> tensors{};  ///< in the model's order
  std::size_t element_bytes = sizeof(float);
  std::size_t fragment = 0;
  factored* layer = nullptr;  ///< that travels as factors
};

/// Cuts a model into buckets of one element type and fragment each, in the order in which backward completes them: last
/// tensor first. Within a bucket tensors keep their own order, in which they most likely lie in memory: processors
/// fetch ahead in that direction.
std::vector<planned_bucket> cut_into_buckets(std::span<const tensor_facts> tensors,
                                             std::span<const std::size_t> fragment_of_tensor, factored_layers& layers,
                                             std::size_t bucket_bytes);

#if SYNCOPATE_BODIES

namespace bucketing {

/// Puts a bucket where backward completes it.
SYNCOPATE_FUNCTION void insert(std::vector<planned_bucket>& all, planned_bucket added) {
  auto place = all.end();
  while (place != all.begin() && (place - 1)->tensors.front().tensor < added.tensors.front().tensor) --place;
  all.insert(place, std::move(added));
}

/// Adds the buckets of one element type and fragment.
SYNCOPATE_FUNCTION void add_buckets(std::span<const tensor_facts> tensors,
                                    std::span<const std::size_t> fragment_of_tensor, factored_layers& layers,
                                    std::size_t bucket_bytes, std::size_t element_bytes, std::size_t fragment,
                                    std::vector<planned_bucket>& all) {
  planned_bucket open{{}, element_bytes, fragment};
  std::size_t bytes = 0;
  const auto close = [&] {
    std::reverse(open.tensors.begin(), open.tensors.end());
    if (!open.tensors.empty()) insert(all, std::exchange(open, {{}, element_bytes, fragment}));
    bytes = 0;
  };
  for (std::size_t tensor = tensors.size(); tensor-- > 0;) {
    if (tensors[tensor].element_bytes != element_bytes || fragment_of_tensor[tensor] != fragment) continue;
    if (factored* const layer = layers.that_ends_with(tensor)) {
      close();
      tensor = layer->first;
      for (std::size_t t = tensor; t < tensor + layer->tensors; ++t) open.tensors.push_back({t, tensors[t].size});
      open.layer = layer;
      insert(all, std::exchange(open, {{}, element_bytes, fragment}));
      continue;
    }
    const std::size_t size = tensors[tensor].size * element_bytes;
    if (bytes + size > bucket_bytes) close();
    open.tensors.push_back({tensor, tensors[tensor].size});
    bytes += size;
  }
  close();
}

}  // namespace bucketing

SYNCOPATE_FUNCTION std::vector<planned_bucket> cut_into_buckets(std::span<const tensor_facts> tensors,
                                                                std::span<const std::size_t> fragment_of_tensor,
                                                                factored_layers& layers, std::size_t bucket_bytes) {
  std::vector<planned_bucket> all;
  std::size_t fragments = 1;
  for (const std::size_t fragment : fragment_of_tensor) fragments = fragments > fragment ? fragments : fragment + 1;
  for (const std::size_t element_bytes : {sizeof(float), sizeof(double)})
    for (std::size_t fragment = 0; fragment < fragments; ++fragment)
      bucketing::add_buckets(tensors, fragment_of_tensor, layers, bucket_bytes, element_bytes, fragment, all);
  return all;
}

#endif

}  // namespace syncopate::detail
