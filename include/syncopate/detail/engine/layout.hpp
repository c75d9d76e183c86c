#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "../../error.hpp"

namespace syncopate::detail {

/// What ranks must agree on about a tensor.
struct tensor_facts {
  std::uint64_t size;           ///< number of elements
  std::uint64_t element_bytes;  ///< 4: float, 8: double

  friend bool operator==(const tensor_facts&, const tensor_facts&) = default;

  std::string text() const {
    return std::to_string(size) + (size == 1 ? " element of " : " elements of ") +
           (element_bytes == 4 ? "float" : "double");
  }
};

/// What of a model is bound, and what is said where it does not fit the layout.
struct part_of_model {
  const char* what;
  std::size_t first, tensors;          ///< of the model
  std::optional<std::size_t> layer{};  ///< that it is, unless it is the whole model

  [[noreturn]] void refuse_more() const {
    throw layout_error("syncopate: there are more " + text() + " than the " + layout());
  }
  [[noreturn]] void refuse_fewer(std::size_t found) const {
    throw layout_error("syncopate: there are " + text() + " of only " + std::to_string(found) + " of the " + layout());
  }
  [[noreturn]] void refuse_size(std::size_t tensor, const tensor_facts& found, const tensor_facts& agreed) const {
    throw layout_error(std::string("syncopate: ") + what + " of tensor " + std::to_string(tensor) + " have " +
                       found.text() + ", but the layout that was agreed at construction has " + agreed.text());
  }

 private:
  std::string text() const { return what + (layer ? " of layer " + std::to_string(*layer) : std::string()); }
  std::string layout() const {
    return std::to_string(tensors) + (tensors == 1 ? " tensor" : " tensors") +
           " of the layout that was agreed at construction";
  }
};

}  // namespace syncopate::detail
