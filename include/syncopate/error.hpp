#pragma once

#include <stdexcept>

namespace syncopate {

/// Base of everything this library throws. Each message is one sentence that starts with "syncopate: " and
/// ends without a full stop.
class error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A hyper-parameter or a combination of policies makes no sense: negative or non-finite values, a delay longer
/// than its period, ranks that were given different schemes. Thrown on every rank, whichever rank is at fault.
class configuration_error : public error {
 public:
  using error::error;
};

/// Tensors do not fit the layout that was agreed at construction, layouts differ between ranks (then it is thrown on
/// every rank), or weights and gradients share memory.
class layout_error : public error {
 public:
  using error::error;
};

/// A call that is not allowed at this point, such as `step` after `finish`.
class usage_error : public error {
 public:
  using error::error;
};

/// The transport failed, or ranks called different collective operations.
class communication_error : public error {
 public:
  using error::error;
};

/// Another rank failed while this one depended on it.
class peer_failure : public communication_error {
 public:
  using communication_error::communication_error;
};

/// Nothing moved for longer than the communicator's stall limit: a rank is dead, or hangs, or called something else.
class stalled : public communication_error {
 public:
  using communication_error::communication_error;
};

/// A rank contributed a gradient with an infinity or a NaN in it. Thrown on every rank at the step at which its mean
/// would have been absorbed; nothing of it was, and training may go on.
class non_finite_error : public error {
 public:
  using error::error;
};

/// A checkpoint cannot be written, or does not belong to this scheme, or is damaged.
class checkpoint_error : public error {
 public:
  using error::error;
};

}  // namespace syncopate
