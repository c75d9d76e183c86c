#pragma once

#include <cstddef>

#include "../training_signal.hpp"

/// What policies may declare besides their formulas, with what holds where they do not.
namespace syncopate::detail {

/// `name<P>` is the constant of P, or `otherwise` where P has none.
#define SYNCOPATE_DECLARED(name, constant, otherwise) \
  template <class P>                                  \
  inline constexpr auto name = otherwise;             \
  template <class P>                                  \
  requires requires { constant; }                     \
  inline constexpr auto name<P> = decltype(otherwise){constant};

SYNCOPATE_DECLARED(state_vectors, P::state_vectors, std::size_t{0})
/// Of state vectors, the first ones that start as the weights.
SYNCOPATE_DECLARED(weight_vectors, P::weight_vectors, std::size_t{0})
SYNCOPATE_DECLARED(scalars, P::scalars, std::size_t{0})
SYNCOPATE_DECLARED(keeps_own, P::keeps_own, false)
SYNCOPATE_DECLARED(keeps_weights, P::keeps_weights, false)
SYNCOPATE_DECLARED(declares_launches_every_step, P::launches_every_step, false)
SYNCOPATE_DECLARED(observes_gradients, P::observes_gradients, false)
/// Of averagings: whether ranks share the work of updates, and whether a snapshot is taken before what is due at the
/// same step is merged.
SYNCOPATE_DECLARED(shards, P::sharded, false)
SYNCOPATE_DECLARED(takes_snapshot_first, P::snapshot_first, false)
#undef SYNCOPATE_DECLARED

/// Whether a delay policy learns from means.
template <class D>
concept adapts = requires(D& d, const training_signal& signal) {
  d.observe(signal);
  d.restore(d.state());
};

/// Whether a delay policy divides a model into fragments, each with a schedule of its own.
template <class D>
concept divides = requires(const D& d, std::size_t number) {
  d.fragments();
  d.fragment_of(number, number);
  d.fragment(number);
};

}  // namespace syncopate::detail
