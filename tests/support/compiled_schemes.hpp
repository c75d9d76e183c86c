#pragma once

#include <functional>

#include "any_communicator.hpp"
#include "any_scheme.hpp"

namespace support {

/// Makes a scheme for these weights. Collective.
template <class W>
using maker = std::function<any_scheme<W>(W& weights, any_communicator communicator)>;

}  // namespace support

/// Schemes for models of type W on any communicator. Each is compiled once, in tests/schemes, whichever tests use it:
/// what is not listed there does not link. Arguments are those of the library's function that follow the communicator.
namespace compiled {

/// `syncopate::update_scheme`.
template <class W, class... Arguments>
support::maker<W> scheme(Arguments... arguments);

template <class W, class... Arguments>
support::maker<W> synchronous_sgd(Arguments... arguments);
template <class W, class... Arguments>
support::maker<W> pseudo_synchronous_sgd(Arguments... arguments);
template <class W, class... Arguments>
support::maker<W> lookahead_sgd(Arguments... arguments);
template <class W, class... Arguments>
support::maker<W> od_sgd(Arguments... arguments);
template <class W, class... Arguments>
support::maker<W> dasgd(Arguments... arguments);
template <class W, class... Arguments>
support::maker<W> local_sgd(Arguments... arguments);
template <class W, class... Arguments>
support::maker<W> sharded_sgd(Arguments... arguments);
template <class W, class... Arguments>
support::maker<W> lazy_sgd(Arguments... arguments);

}  // namespace compiled
