#pragma once

#include <string>

#include "../../error.hpp"
#include "../bodies.hpp"
#include "../sentence.hpp"

namespace syncopate::detail {

/// Whether a scheme can still be used, and what is said where it cannot.
class scheme_state {
 public:
  enum class phase { running, finished, failed };

  bool is(phase wanted) const { return phase_ == wanted; }
  void becomes(phase next) { phase_ = next; }

  /// The newest error.
  const std::string& failure() const { return failure_; }
  /// Notes an error; a running scheme is of no more use, if it is `fatal`.
  void fail(const char* what, bool fatal) {
    if (fatal && phase_ == phase::running) phase_ = phase::failed;
    failure_ = what;
  }

  void begin_step() { in_step_ = true; }
  void end_step() { in_step_ = false; }

  /// Each throws `usage_error`.
  void require_running(const char* call) const;
  /// Whether a step has begun that has not ended.
  void require_open_step(const char* call) const;
  void require_no_open_step(const char* call) const;
  /// Between two steps, also of a scheme that is finished.
  void require_between_steps(const char* call) const {
    if (phase_ == phase::failed) require_running(call);
    require_no_open_step(call);
  }

 private:
  phase phase_ = phase::running;
  bool in_step_ = false;
  std::string failure_;
};

#if SYNCOPATE_BODIES

SYNCOPATE_FUNCTION void scheme_state::require_running(const char* call) const {
  if (phase_ == phase::finished)
    throw usage_error("syncopate: " + std::string(call) +
                      " was called after finish: make a new scheme to go on training");
  if (phase_ == phase::failed)
    throw usage_error("syncopate: " + std::string(call) +
                      " was called after the scheme had failed: " + std::string(without_prefix(failure_)));
}

SYNCOPATE_FUNCTION void scheme_state::require_no_open_step(const char* call) const {
  if (in_step_) throw usage_error("syncopate: " + std::string(call) + " was called between begin_step and end_step");
}

SYNCOPATE_FUNCTION void scheme_state::require_open_step(const char* call) const {
  if (!in_step_)
    throw usage_error("syncopate: " + std::string(call) + " was called outside a step: call begin_step before");
}

#endif

}  // namespace syncopate::detail
