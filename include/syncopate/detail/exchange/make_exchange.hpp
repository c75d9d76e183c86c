#pragma once

#include <cstddef>
#include <memory>

#include "../bodies.hpp"
#include "exchange.hpp"
#if SYNCOPATE_BODIES
#include "all_reduce.hpp"
#include "factor_gather.hpp"
#include "reduce_scatter.hpp"
#endif

namespace syncopate::detail {

/// The exchange that suits what is to be carried.
std::unique_ptr<exchange> make_exchange(std::size_t element_bytes, const cargo& what, wire& on, measurement& measured);

#if SYNCOPATE_BODIES

SYNCOPATE_FUNCTION std::unique_ptr<exchange> make_exchange(std::size_t element_bytes, const cargo& what, wire& on,
                                                           measurement& measured) {
  return with_element_of(element_bytes, [&]<class T>(T) -> std::unique_ptr<exchange> {
    if (what.factors) return std::make_unique<factor_gather<T>>(what, on, measured);
    if (what.sharded) return std::make_unique<reduce_scatter<T>>(what, on, measured);
    return std::make_unique<all_reduce<T>>(what, on, measured);
  });
}

#endif

}  // namespace syncopate::detail
