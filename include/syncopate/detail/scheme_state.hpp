#pragma once

#include <string>
#include <utility>

#include "../error.hpp"
#include "sentence.hpp"

namespace syncopate::detail {

/// Whether a scheme can still be used, and what is said where it cannot. Whoever moves a scheme leaves one behind that
/// says so.
class scheme_state {
 public:
  enum class phase { running, finished, failed, moved };

  scheme_state() = default;
  scheme_state(scheme_state&& other) noexcept
      : phase_(std::exchange(other.phase_, phase::moved)),
        in_step_(other.in_step_),
        failure_(std::move(other.failure_)) {}

  bool is(phase wanted) const { return phase_ == wanted; }
  void becomes(phase next) { phase_ = next; }

  /// The newest error.
  const std::string& failure() const { return failure_; }
  /// Notes an error; a running scheme is of no more use, if it is `fatal`.
  void fail(const char* what, bool fatal) {
    if (fatal && phase_ == phase::running) phase_ = phase::failed;
    failure_ = what;
  }

  /// Whether a step has begun that has not ended.
  bool in_step() const { return in_step_; }
  void begin_step() { in_step_ = true; }
  void end_step() { in_step_ = false; }

  /// Throws `usage_error`.
  void require_running(const char* call) const {
    if (phase_ == phase::finished)
      throw usage_error("syncopate: " + std::string(call) +
                        " was called after finish: make a new scheme to go on training");
    if (phase_ == phase::failed)
      throw usage_error("syncopate: " + std::string(call) +
                        " was called after the scheme had failed: " + std::string(without_prefix(failure_)));
  }
  void require_no_open_step(const char* call) const {
    if (in_step_) throw usage_error("syncopate: " + std::string(call) + " was called between begin_step and end_step");
  }
  void require_open_step(const char* call) const {
    if (!in_step_)
      throw usage_error("syncopate: " + std::string(call) + " was called outside a step: call begin_step before");
  }
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

}  // namespace syncopate::detail
