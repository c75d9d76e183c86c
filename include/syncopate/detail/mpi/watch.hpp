#pragma once

#include <cstdint>

#include "operation.hpp"
#include "peers.hpp"

namespace syncopate::detail {

/// Keeps an eye on one wait for an operation, so that it ends.
class mpi_watch {
  using clock = mpi_peers::clock;

 public:
  explicit mpi_watch(const mpi_operation& operation) : operation_(operation), peers_(operation.peers()) {}

  /// To be called while the operation has not ended, the oftener the better: it knows itself when there is something to
  /// do. Throws `peer_failure` or `stalled` where it is in vain to wait any longer.
  void look() {
    if (!peers_) return;
    const auto now = clock::now();
    peers_->look(now);
    peers_->check(operation_.call());
    const auto limit = peers_->stall_limit();
    if (limit.count() == 0) return;

    if (begin_ == clock::time_point{}) begin_ = told_ = now;
    if (const std::uint64_t moved = operation_.channel_movements(); moved != moved_ || since_ < begin_) {
      moved_ = moved;
      since_ = now;
    }
    // Who waits long says so, and sooner who has heard another one say so: all shall know of all by the time at which
    // the first one gives up.
    if (now - told_ > limit / 2 || (told_ == begin_ && now - begin_ > limit / 8 && peers_->heard_at() > now - limit)) {
      peers_->tell_waiting(operation_.call());
      told_ = now;
    }
    if (now - since_ > limit) {
      peers_->give_up(operation_.call(), now - limit);
      since_ += limit / 8;  // till it is asked again
    }
  }

 private:
  const mpi_operation& operation_;
  mpi_peers* const peers_;
  clock::time_point begin_{}, since_{}, told_{};
  std::uint64_t moved_ = 0;
};

}  // namespace syncopate::detail
