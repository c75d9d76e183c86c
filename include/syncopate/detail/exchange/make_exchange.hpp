#pragma once

#include <memory>

#include "../../tensor.hpp"
#include "../bodies.hpp"
#include "exchange.hpp"
#if SYNCOPATE_BODIES
#include "all_reduce.hpp"
#include "factor_gather.hpp"
#include "reduce_scatter.hpp"
#endif

namespace syncopate::detail {

class measurement;
class wire;

/// The exchange that suits what is to be carried. `Sharded`: ranks share the work.
template <Element T, bool Sharded>
std::unique_ptr<exchange> make_exchange(const cargo& what, wire& on, measurement& measured);

#if SYNCOPATE_BODIES

template <Element T, bool Sharded>
std::unique_ptr<exchange> make_exchange(const cargo& what, wire& on, measurement& measured) {
  if (what.factors) return std::make_unique<factor_gather<T>>(what, on, measured);
  if constexpr (Sharded)
    return std::make_unique<reduce_scatter<T>>(what, on, measured);
  else
    return std::make_unique<all_reduce<T>>(what, on, measured);
}

#endif

#if defined(SYNCOPATE_COMPILES)
template std::unique_ptr<exchange> make_exchange<float, false>(const cargo&, wire&, measurement&);
template std::unique_ptr<exchange> make_exchange<float, true>(const cargo&, wire&, measurement&);
template std::unique_ptr<exchange> make_exchange<double, false>(const cargo&, wire&, measurement&);
template std::unique_ptr<exchange> make_exchange<double, true>(const cargo&, wire&, measurement&);
#endif

}  // namespace syncopate::detail
