#pragma once

#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "../../communicators/mpi_options.hpp"
#include "agreement.hpp"
#include "check.hpp"
#include "choice.hpp"
#include "driver.hpp"
#include "duplicate.hpp"
#include "library_call.hpp"
#include "operation.hpp"
#include "ring_sum.hpp"

namespace syncopate::detail {

/// What the copies of a communicator share: MPI communicators of our own, and the operations that go on there.
class mpi_channel {
 public:
  /// Collective.
  mpi_channel(MPI_Comm original, const mpi_options& options) : options_(options), polled_(original) {
    check_mpi(MPI_Comm_rank(polled_.get(), &rank_), "ask for the rank");
    check_mpi(MPI_Comm_size(polled_.get(), &size_), "ask for the number of ranks");
    facts_ = agree(polled_.get(), options);
    // Calls of two threads must not meet on one communicator: ranks could order them differently.
    if (facts_.threads && options.progress != mpi_progress::on_poll) threaded_.emplace(original);
  }

  MPI_Comm communicator() const { return polled_.get(); }
  int rank() const { return rank_; }
  int size() const { return size_; }
  const mpi_options& options() const { return options_; }
  const mpi_facts& facts() const { return facts_; }
  const mpi_traffic& traffic() const { return traffic_; }

  /// Starts a sum, in place. It is this rank's until it is given to `let_go`.
  mpi_operation& start_sum(const mpi_elements& elements) {
    require_mpi("start a sum");
    const auto plan = choose(options_, facts_, elements.bytes());
    if (plan.ring()) {
      ring_sum& sum = free_one(rings_);
      sum.set(communicator_for(plan.on_thread()), rank_, size_, tag_, elements, options_.chunk_bytes);
      tag_ = (tag_ + 1) % tags;
      return start(sum, plan.on_thread());
    }
    library_call& sum = free_one(calls_);
    sum.set_sum(communicator_for(plan.on_thread()), size_, elements, options_.largest_count);
    return start(sum, plan.on_thread());
  }

  /// Blocking: MPI's own all-reduce, if the library is to sum in the caller's thread. Whether it was; all ranks decide
  /// alike.
  bool sum(const mpi_elements& elements) {
    const auto plan = choose(options_, facts_, elements.bytes());
    if (plan.ring() || plan.on_thread()) return false;
    require_mpi("sum");
    const auto before = processor_time_of_thread();
    for (std::size_t first = 0; first < elements.count; first += options_.largest_count) {
      const std::size_t count = std::min(elements.count - first, options_.largest_count);
      check_mpi(MPI_Allreduce(MPI_IN_PLACE, elements.data + first * elements.bytes_each, static_cast<int>(count),
                              elements.type, MPI_SUM, polled_.get()),
                "sum", count);
    }
    traffic_.nanoseconds += (processor_time_of_thread() - before).count();
    traffic_.bytes_sent += least_bytes_of_sum(elements, size_);
    return true;
  }

  /// Whether it is over; lets it progress. Throws what went wrong with it.
  static bool test(const mpi_operation& operation) {
    if (!operation.ended() && !operation.threaded) mpi_driver::of_process().poll();
    if (!operation.ended()) return false;
    operation.rethrow_failure();
    return true;
  }

  /// Returns once it is over. Throws what went wrong with it.
  static void wait(const mpi_operation& operation) {
    if (!operation.ended()) {
      if (operation.threaded)
        mpi_driver::of_process().wait_threaded(operation);
      else
        mpi_driver::of_process().wait_polled(operation);
    }
    operation.rethrow_failure();
  }

  /// The rank does not need it any more. If it is not over, it goes on, and `channel` with it.
  static void let_go(mpi_operation& operation, std::shared_ptr<mpi_channel> channel) {
    if (!operation.ended())
      mpi_driver::of_process().keep(std::move(channel));
    else if (!operation.failed())  // else MPI may not be done with it
      operation.taken = false;
  }

  /// Blocking.
  void broadcast(std::span<std::byte> bytes, int root) {
    require_mpi("broadcast");
    library_call& call = free_one(calls_);
    call.set_broadcast(communicator_for(always_threaded()), root, elements_of_mpi(bytes), options_.largest_count);
    wait(start(call, always_threaded()));
    call.taken = false;
  }

  /// Blocking. Precondition: own.size() is at most `largest_count`, and all.size() is `size()` times that.
  void gather(std::span<const std::byte> own, std::span<std::byte> all) {
    require_mpi("gather");
    library_call& call = free_one(calls_);
    call.set_gather(communicator_for(always_threaded()), own.data(), elements_of_mpi(all), own.size());
    wait(start(call, always_threaded()));
    call.taken = false;
  }

 private:
  bool always_threaded() const { return options_.progress == mpi_progress::on_thread; }
  MPI_Comm communicator_for(bool threaded) const { return (threaded ? *threaded_ : polled_).get(); }

  template <class Operation>
  static Operation& free_one(std::vector<std::unique_ptr<Operation>>& pool) {
    const auto found = std::ranges::find(pool, false, [](const auto& operation) { return operation->taken; });
    Operation& operation = found != pool.end() ? **found : *pool.emplace_back(std::make_unique<Operation>());
    operation.taken = true;
    return operation;
  }

  template <class Operation>
  Operation& start(Operation& operation, bool threaded) {
    operation.prepare(traffic_, threaded);
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

  mpi_options options_;
  mpi_duplicate polled_;
  std::optional<mpi_duplicate> threaded_;
  int rank_ = 0, size_ = 1;
  mpi_facts facts_;
  int tag_ = 0;
  mpi_traffic traffic_;
  std::vector<std::unique_ptr<ring_sum>> rings_;
  std::vector<std::unique_ptr<library_call>> calls_;
};

}  // namespace syncopate::detail
