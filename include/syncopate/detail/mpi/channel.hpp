#pragma once

#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "../../communicators/mpi_options.hpp"
#include "agreement.hpp"
#include "check.hpp"
#include "choice.hpp"
#include "driver.hpp"
#include "duplicate.hpp"
#include "library_call.hpp"
#include "opening.hpp"
#include "operation.hpp"
#include "peers.hpp"
#include "ring_operation.hpp"

namespace syncopate::detail {

/// What the copies of a communicator share: MPI communicators of our own, and the operations that go on there. Channels
/// of a family, that is, a communicator and its duplicates, hear of failures on each other.
class mpi_channel : public std::enable_shared_from_this<mpi_channel> {
 public:
  /// Collective: the first one of a family.
  mpi_channel(MPI_Comm original, const mpi_options& options)
      : mpi_channel(original, options, open_mpi_family(original, options), {{collective_call::kind::creation}}) {}

  /// Collective: a duplicate.
  explicit mpi_channel(mpi_channel& original)
      : mpi_channel(original.communicator(), original.options_, original.peers_,
                    original.next_call({collective_call::kind::duplicate})) {}

  MPI_Comm communicator() const { return polled_->get(); }
  int rank() const { return rank_; }
  int size() const { return size_; }
  const mpi_options& options() const { return options_; }
  const mpi_facts& facts() const { return facts_; }
  const mpi_traffic& traffic() const { return traffic_; }

  /// This rank goes no further.
  void fail(std::string_view what) noexcept {
    std::int64_t next = calls_made_;
    const auto look_at = [&](const auto& pool) {
      for (const auto& operation : pool)
        if (operation->taken && (!operation->ended() || operation->failed()))
          next = std::min(next, operation->call().number);
    };
    look_at(rings_);
    look_at(library_calls_);
    peers_->fail(what, {{}, number_, next});
  }

  /// Starts a sum, or a half of one, in place. It is this rank's until it is given to `let_go`. All ranks know whether
  /// it is `awaited` at once.
  mpi_operation& start(movement what, const mpi_elements& elements, bool awaited) {
    require_mpi("start a sum");
    const auto plan = choose(options_, facts_, elements.bytes());
    const mpi_call call = next_call(call_of(what, elements));
    // All ranks drive a ring that they wait for, and it is nearly as fast as MPI_Allreduce; MPI_Iallreduce is not.
    const bool pays = awaited && options_.transport == mpi_transport::automatic && !plan.on_thread() &&
                      elements.bytes() >= options_.large_bytes;
    // The library cuts sums only.
    const bool too_long =
        what != movement::sum && elements.count / static_cast<std::size_t>(size_) > options_.largest_count;
    if (what != movement::exchange_blocks && (plan.ring() || pays || too_long)) {
      ring_operation& operation = free_one(rings_);
      operation.set(what, communicator_for(plan.on_thread()), rank_, size_, tag_, elements, options_.chunk_bytes);
      tag_ = (tag_ + 1) % tags;
      return start(operation, plan.on_thread(), call);
    }
    library_call& operation = free_one(library_calls_);
    operation.set_movement(what, communicator_for(plan.on_thread()), rank_, size_, elements, options_.largest_count);
    return start(operation, plan.on_thread(), call);
  }

  /// Blocking: MPI_Allreduce, which nothing ends, if the library is to sum in the caller's thread and there is no limit
  /// to waiting. Whether it was; all ranks decide alike.
  bool sum(const mpi_elements& elements) {
    const auto plan = choose(options_, facts_, elements.bytes());
    if (options_.stall_limit_seconds > 0 || plan.ring() || plan.on_thread()) return false;
    require_mpi("sum");
    next_call(call_of(movement::sum, elements));
    const auto before = processor_time_of_thread();
    for (std::size_t first = 0; first < elements.count; first += options_.largest_count) {
      const std::size_t count = std::min(elements.count - first, options_.largest_count);
      check_mpi(MPI_Allreduce(MPI_IN_PLACE, elements.data + first * elements.bytes_each, static_cast<int>(count),
                              elements.type, MPI_SUM, polled_->get()),
                "sum", count);
    }
    traffic_.nanoseconds += (processor_time_of_thread() - before).count();
    traffic_.bytes_sent += least_bytes(movement::sum, elements, size_);
    return true;
  }

  /// The rank does not need it any more. If it is not over, it goes on, and `channel` with it.
  static void let_go(mpi_operation& operation, std::shared_ptr<mpi_channel> channel) {
    if (!operation.ended()) {
      mpi_driver::of_process().keep(std::move(channel));
      operation.abandon();
    } else if (!operation.failed()) {  // else MPI may not be done with it
      operation.taken = false;
    }
  }

  /// Blocking.
  void broadcast(std::span<std::byte> bytes, int root) {
    require_mpi("broadcast");
    const mpi_call call = next_call({collective_call::kind::broadcast, bytes.size(), root});
    library_call& operation = free_one(library_calls_);
    const std::size_t most = std::min(options_.largest_count, most_staged);
    std::size_t first = 0;
    do {
      const auto piece = bytes.subspan(first, std::min(bytes.size() - first, most));
      operation.set_broadcast(communicator_for(always_threaded()), root, piece.size());
      if (rank_ == root) std::ranges::copy(piece, operation.staged().begin());
      complete(operation, call);
      if (rank_ != root) std::ranges::copy(operation.staged(), piece.begin());
      first += piece.size();
    } while (first < bytes.size());
    put_back(operation);
  }

  /// Blocking. Precondition: own.size() is at most `largest_count`, and all.size() is `size()` times that.
  void gather(std::span<const std::byte> own, std::span<std::byte> all) {
    require_mpi("gather");
    const mpi_call call = next_call({collective_call::kind::all_gather, own.size()});
    library_call& operation = free_one(library_calls_);
    operation.set_gather(communicator_for(always_threaded()), size_, own.size());
    std::ranges::copy(own, operation.staged().subspan(static_cast<std::size_t>(rank_) * own.size()).begin());
    complete(operation, call);
    std::ranges::copy(operation.staged(), all.begin());
    put_back(operation);
  }

 private:
  /// `call` made it.
  mpi_channel(MPI_Comm original, const mpi_options& options, mpi_family peers, const mpi_call& call)
      : options_(options), peers_(std::move(peers)) {
    polled_.emplace(duplicate_mpi(original, call, *peers_), peers_);
    check_mpi(MPI_Comm_rank(polled_->get(), &rank_), "ask for the rank");
    check_mpi(MPI_Comm_size(polled_->get(), &size_), "ask for the number of ranks");
    const auto all = gather_mpi_facts(polled_->get(), rank_, size_, options_, call, *peers_);
    facts_ = facts_of_ranks(all);
    number_ = all[0].channel;
    // Calls of two threads must not meet on one communicator: ranks could order them differently.
    if (facts_.threads && options.progress != mpi_progress::on_poll)
      threaded_.emplace(duplicate_mpi(original, call, *peers_), peers_);
  }

  /// Drives it until it is over. If it is in vain to wait for that, it goes on.
  void complete(library_call& operation, const mpi_call& call) {
    try {
      mpi_driver::of_process().wait(start(operation, always_threaded(), call));
    } catch (...) {
      let_go(operation, shared_from_this());
      throw;
    }
  }

  static void put_back(library_call& operation) {
    operation.free_staged();
    operation.taken = false;
  }

  static collective_call call_of(movement what, const mpi_elements& elements) {
    return {what, elements.count, 0, elements.bytes_each};
  }

  /// Throws `peer_failure` if it would be in vain.
  mpi_call next_call(const collective_call& what) {
    const mpi_call call{what, number_, calls_made_};
    peers_->check(call);
    ++calls_made_;
    return call;
  }

  bool always_threaded() const { return options_.progress == mpi_progress::on_thread; }
  MPI_Comm communicator_for(bool threaded) const { return (threaded ? *threaded_ : *polled_).get(); }

  template <class Operation>
  static Operation& free_one(std::vector<std::unique_ptr<Operation>>& pool) {
    const auto found = std::ranges::find(pool, false, [](const auto& operation) { return operation->taken; });
    Operation& operation = found != pool.end() ? **found : *pool.emplace_back(std::make_unique<Operation>());
    operation.taken = true;
    return operation;
  }

  template <class Operation>
  Operation& start(Operation& operation, bool threaded, const mpi_call& call) {
    operation.prepare(traffic_, threaded, call, peers_.get());
    if (threaded)
      mpi_driver::of_process().start_threaded(operation, longest_sleep());
    else
      mpi_driver::of_process().start_polled(operation);
    return operation;
  }

  std::chrono::microseconds longest_sleep() const {
    return std::chrono::microseconds(static_cast<std::int64_t>(options_.longest_sleep_microseconds));
  }

  static constexpr int tags = 1 << 14;  ///< at least 32767 are allowed
  /// Of a broadcast, at a time.
  static constexpr std::size_t most_staged = std::size_t{1} << 20;

  mpi_options options_;
  mpi_family peers_;
  std::optional<mpi_duplicate> polled_, threaded_;
  int rank_ = 0, size_ = 1;
  mpi_facts facts_;
  int number_ = 0;
  std::int64_t calls_made_ = 1;  ///< the making of the channel is call 0
  int tag_ = 0;
  mpi_traffic traffic_;
  std::vector<std::unique_ptr<ring_operation>> rings_;
  std::vector<std::unique_ptr<library_call>> library_calls_;
};

}  // namespace syncopate::detail
