#pragma once

#include <utility>

#include "../support/compiled_schemes.hpp"
#include "../support/training.hpp"
#include "syncopate/syncopate.hpp"

/// Defines what ../support/compiled_schemes.hpp declares.
namespace compiled {

#define DEFINE(name, library_name)                                                                 \
  template <class W, class... Arguments>                                                           \
  support::maker<W> name(Arguments... arguments) {                                                 \
    return [=](W& weights, support::any_communicator communicator) {                               \
      return support::any_scheme<W>(library_name(weights, std::move(communicator), arguments...)); \
    };                                                                                             \
  }
DEFINE(scheme, syncopate::update_scheme)
DEFINE(synchronous_sgd, syncopate::synchronous_sgd)
DEFINE(pseudo_synchronous_sgd, syncopate::pseudo_synchronous_sgd)
DEFINE(lookahead_sgd, syncopate::lookahead_sgd)
DEFINE(od_sgd, syncopate::od_sgd)
DEFINE(dasgd, syncopate::dasgd)
DEFINE(local_sgd, syncopate::local_sgd)
DEFINE(sharded_sgd, syncopate::sharded_sgd)
DEFINE(lazy_sgd, syncopate::lazy_sgd)
#undef DEFINE

}  // namespace compiled

/// Compiles a scheme: its name, then the types of its arguments.
#define COMPILE(name, ...)                     \
  COMPILE_FOR(model<float>, name, __VA_ARGS__) \
  COMPILE_FOR(model<double>, name, __VA_ARGS__)
#define COMPILE_FOR(W, name, ...) template support::maker<W> compiled::name<W>(__VA_ARGS__);

using namespace syncopate;
using support::mixed_model;
using support::model;
