#pragma once

#include <iosfwd>
#include <span>

#include "options.hpp"
#include "result.hpp"

namespace fashion_mnist {

/// One aligned row for each scheme, and below it what is worth knowing to read it.
void print_table(std::ostream& out, const options& job, std::span<const result> results);

/// A JSON list with one object for each scheme. A loss that is not finite, and the hidden fraction where nothing was
/// communicated, are null.
void print_json(std::ostream& out, std::span<const result> results);

}  // namespace fashion_mnist
