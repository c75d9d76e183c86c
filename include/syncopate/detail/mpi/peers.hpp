#pragma once

#include <mpi.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "../../error.hpp"
#include "../by_rank.hpp"
#include "../collective_call.hpp"
#include "../faults.hpp"
#include "check.hpp"

namespace syncopate::detail {

/// A rank's call of a collective operation.
struct mpi_call {
  collective_call what;
  int channel = 0;          ///< among those of a family
  std::int64_t number = 0;  ///< among the calls of the channel

  bool operator==(const mpi_call&) const = default;
};

/// What the ranks of a family of channels (a communicator and its duplicates) tell each other besides operations: that
/// one goes no further, and which call one has been waiting in for a while. These are small messages on an MPI
/// communicator of their own, so that nobody waits for them to be sent or received. Any thread may call it that may
/// call MPI.
class mpi_peers {
 public:
  using clock = std::chrono::steady_clock;

  mpi_peers(int rank, int ranks, double stall_limit_seconds)
      : rank_(rank),
        limit_(detail::stall_limit(stall_limit_seconds)),
        heard_(static_cast<std::size_t>(ranks)),
        sent_(std::make_unique<outgoing>(static_cast<std::size_t>(ranks))) {}
  mpi_peers(const mpi_peers&) = delete;
  mpi_peers& operator=(const mpi_peers&) = delete;
  ~mpi_peers() {
    if (control_ == MPI_COMM_NULL || !mpi_is_usable()) return;
    if (!broken_) look(clock::now(), true);
    if (!all_left()) sent_.release();  // NOLINT(bugprone-unused-return-value): MPI may still read it
    if (!broken_) MPI_Comm_free(&control_);
  }

  /// From now on they can hear each other. Takes over the communicator, which returns errors.
  void open(MPI_Comm control) { control_ = control; }

  clock::duration stall_limit() const { return limit_; }

  /// A number that no other channel of the family has on this rank.
  int number_of_channel() { return channels_++; }

  /// Whether some rank is lost, so that nothing collective must be tried any more.
  bool broken() const { return broken_; }

  /// This rank goes no further. `next` is the first call of a channel that it has not completed. Without a text it is
  /// that of its own stall, if it had one. Who does not hear of it, since MPI fails, runs into the stall limit.
  void fail(std::string_view what, const mpi_call& next) noexcept {
    const std::lock_guard lock(mutex_);
    broken_ = true;
    if (peer_failed_ || farewell_said_ || control_ == MPI_COMM_NULL || !mpi_is_usable()) return;
    farewell_said_ = true;
    sent_->last = {{message::failed, next}, {}};
    what = without_prefix(what.empty() ? stall_ : what);
    what.copy(sent_->last.text.data(), sent_->last.text.size() - 1);
    for (int rank = 0; rank < ranks(); ++rank)
      if (rank != rank_)
        send(&sent_->last, sizeof sent_->last, rank, sent_->requests[heard_.size() + static_cast<std::size_t>(rank)]);
    all_left();
  }

  /// Receives what has come. To look costs time, so it is done every few milliseconds at most, unless
  /// `now_in_any_case`.
  void look(clock::time_point now, bool now_in_any_case = false) noexcept {
    if (now < next_look_.load(std::memory_order_relaxed) && !now_in_any_case) return;
    const std::unique_lock lock(mutex_, std::try_to_lock);
    if (!lock || control_ == MPI_COMM_NULL) return;
    next_look_.store(now + std::chrono::milliseconds(5), std::memory_order_relaxed);
    for (;;) {
      int there = 0;
      MPI_Status status;
      farewell received{};
      if (MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, control_, &there, &status) != MPI_SUCCESS || !there ||
          MPI_Recv(&received, sizeof received, MPI_BYTE, status.MPI_SOURCE, status.MPI_TAG, control_,
                   MPI_STATUS_IGNORE) != MPI_SUCCESS)
        return;
      if (received.head.kind == message::waits)
        heard_[static_cast<std::size_t>(status.MPI_SOURCE)] = {received.head.call, now};
      else if (!peer_failed_)
        note_failure(received, status.MPI_SOURCE);
      heard_at_ = now;
    }
  }

  /// Throws `peer_failure` if a rank has failed that has not completed this call.
  void check(const mpi_call& call) const {
    if (peer_failed_.load(std::memory_order_acquire) && in_vain(call))
      throw peer_failure(text_of_peer_failure(failed_rank_, failure_.text.data()));
  }

  /// Whether some rank is lost without which the call cannot be completed.
  bool in_vain(const mpi_call& call) const {
    if (!broken_) return false;
    if (!peer_failed_.load(std::memory_order_acquire)) return true;  // it is this one
    const mpi_call& next = failure_.head.call;
    return call.channel != next.channel || call.number >= next.number;
  }

  /// Tells the others that this rank waits in the call.
  void tell_waiting(const mpi_call& call) noexcept {
    const std::lock_guard lock(mutex_);
    if (control_ == MPI_COMM_NULL || farewell_said_) return;
    for (int rank = 0; rank < ranks(); ++rank) {
      MPI_Request& request = sent_->requests[static_cast<std::size_t>(rank)];
      int left = 1;
      if (rank == rank_ || (request != MPI_REQUEST_NULL && MPI_Test(&request, &left, MPI_STATUS_IGNORE)) || !left)
        continue;  // nor will it hear more
      auto& head = sent_->heads[static_cast<std::size_t>(rank)] = {message::waits, call};
      send(&head, sizeof head, rank, request);
    }
  }

  /// When some rank last said something.
  clock::time_point heard_at() const {
    const std::lock_guard lock(mutex_);
    return heard_at_;
  }

  /// Throws `stalled`, unless all other ranks have said since then that they wait in the same call: then none is
  /// missing, and what takes so long is the transfer itself.
  void give_up(const mpi_call& call, clock::time_point since) {
    const std::lock_guard lock(mutex_);
    std::vector<int> silent, waiting;
    std::string elsewhere;
    for (int rank = 0; rank < ranks(); ++rank) {
      const auto& [said, at] = heard_[static_cast<std::size_t>(rank)];
      if (rank == rank_ || (at >= since && said == call))
        waiting.push_back(rank);
      else if (at < since)
        silent.push_back(rank);
      else
        elsewhere += ", rank " + std::to_string(rank) + " waits in " + said.what.text() + ", operation " +
                     std::to_string(said.number) + (said.channel == call.channel ? "" : " of another channel");
    }
    if (control_ != MPI_COMM_NULL && static_cast<int>(waiting.size()) == ranks()) return;
    broken_ = true;
    std::string text = text_of_stall(limit_, call.what, call.number);
    if (control_ == MPI_COMM_NULL) throw stalled(text + "not all ranks have called it");
    if (!silent.empty()) text += "nothing came from " + list_of_ranks(silent) + ", ";
    stall_ = text + list_of_ranks(waiting) + (waiting.size() == 1 ? " waits" : " wait") + " for it" + elsewhere;
    throw stalled(stall_);
  }

 private:
  // As bytes on the wire: ranks run the same program.
  struct message {
    enum { waits, failed } kind;
    mpi_call call;
  };
  struct farewell {
    message head;
    std::array<char, 400> text;  ///< ends with a zero
  };

  struct heard {
    mpi_call call;
    clock::time_point at{};
  };

  /// What MPI may read until it has been sent.
  struct outgoing {
    explicit outgoing(std::size_t ranks) : heads(ranks), requests(2 * ranks, MPI_REQUEST_NULL) {}
    farewell last{};
    std::vector<message> heads;
    std::vector<MPI_Request> requests;  ///< of heads, then of the last
  };

  int ranks() const { return static_cast<int>(heard_.size()); }

  void send(const void* data, std::size_t bytes, int rank, MPI_Request& request) const noexcept {
    if (MPI_Isend(data, static_cast<int>(bytes), MPI_BYTE, rank, 0, control_, &request) != MPI_SUCCESS)
      request = MPI_REQUEST_NULL;
  }

  /// Lets messages leave. Whether all have.
  bool all_left() noexcept {
    int all = 0;
    return MPI_Testall(static_cast<int>(sent_->requests.size()), sent_->requests.data(), &all, MPI_STATUSES_IGNORE) ==
               MPI_SUCCESS &&
           all;
  }

  void note_failure(const farewell& received, int rank) noexcept {
    failure_ = received;
    failed_rank_ = rank;
    peer_failed_.store(true, std::memory_order_release);
    broken_ = true;  // last: `in_vain` asks for it first
  }

  const int rank_;
  const clock::duration limit_;
  MPI_Comm control_ = MPI_COMM_NULL;
  std::atomic<int> channels_{0};
  std::atomic<bool> broken_{false};
  std::atomic<clock::time_point> next_look_{};

  // Set once.
  std::atomic<bool> peer_failed_{false};
  farewell failure_{};
  int failed_rank_ = 0;

  mutable std::mutex mutex_;  // guards what follows
  std::vector<heard> heard_;
  clock::time_point heard_at_{};
  std::unique_ptr<outgoing> sent_;
  bool farewell_said_ = false;
  std::string stall_;  ///< what was thrown when this rank gave up
};

}  // namespace syncopate::detail
