#pragma once

#include <mpi.h>

#include <atomic>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <span>
#include <utility>

#include "../../error.hpp"
#include "../../tensor.hpp"
#include "../collective_call.hpp"
#include "../elements/loop.hpp"
#include "check.hpp"
#include "peers.hpp"

namespace syncopate::detail {

/// Elements in memory, for code that does not care of which type they are.
struct mpi_elements {
  std::byte* data = nullptr;
  std::size_t count = 0;
  std::size_t bytes_each = 1;
  MPI_Datatype type = MPI_BYTE;
  /// sum[i] += summand[i] for `count` elements.
  void (*add)(std::byte* sum, const std::byte* summand, std::size_t count) = nullptr;

  std::size_t bytes() const { return count * bytes_each; }
};

inline mpi_elements elements_of_mpi(std::span<std::byte> bytes) { return {bytes.data(), bytes.size()}; }

template <Element T>
mpi_elements elements_of_mpi(std::span<T> elements) {
  return {reinterpret_cast<std::byte*>(elements.data()), elements.size(), sizeof(T),
          std::same_as<T, float> ? MPI_FLOAT : MPI_DOUBLE,
          [](std::byte* sum_bytes, const std::byte* summand_bytes, std::size_t count) {
            T* const sum = reinterpret_cast<T*>(sum_bytes);
            const T* const summand = reinterpret_cast<const T*>(summand_bytes);
            for_each_element(count, [=](std::size_t i) SYNCOPATE_INLINE_LAMBDA { sum[i] += summand[i]; });
          }};
}

/// What is done to elements that a scheme has in flight.
using movement = collective_call::kind;

/// What a rank has to send at least, on average, so that all have the sum: 2 (P − 1) / P of it, half of it in either
/// half of the sum. Patarasu and Yuan 2009.
inline std::size_t least_bytes(movement what, const mpi_elements& elements, int ranks) {
  return elements.bytes() / static_cast<std::size_t>(ranks) * (what == movement::sum ? 2 : 1) *
         static_cast<std::size_t>(ranks - 1);
}

/// What a channel's operations have cost so far.
struct mpi_traffic {
  std::atomic<std::uint64_t> bytes_sent{0};
  std::atomic<std::int64_t> nanoseconds{0};  ///< of processor time
  std::atomic<std::uint64_t> movements{0};   ///< messages that certainly came or left, or operations that ended
};

/// What an attempt to continue an operation achieved. `much`: so much that it should have been made earlier.
enum class mpi_advance { nothing, little, much, all };

/// A collective operation in flight. The driver calls `advance`, which first starts it, until that says `all` or
/// throws, and then `end`. The one who asked for it looks at `ended`.
class mpi_operation {
 public:
  using clock = std::chrono::steady_clock;

  mpi_operation() = default;
  mpi_operation(const mpi_operation&) = delete;
  mpi_operation& operator=(const mpi_operation&) = delete;
  virtual ~mpi_operation() = default;

  virtual mpi_advance advance() = 0;
  /// Bytes that this rank has sent; where the MPI library sends, the least that it has to.
  virtual std::size_t bytes_sent() const = 0;

  /// Before anything else, each time that it is used. With `peers`, waits for it end where these are lost.
  void prepare(mpi_traffic& traffic, bool on_thread, const mpi_call& call = {}, mpi_peers* peers = nullptr) {
    traffic_ = &traffic;
    threaded = on_thread;
    call_ = call;
    peers_ = peers;
    failure_ = nullptr;
    abandoned_.store(false, std::memory_order_relaxed);
    ended_.store(false, std::memory_order_relaxed);
  }

  /// It is over, well or with a failure, and nobody drives it any more.
  void end(std::exception_ptr failure = nullptr) {
    failure_ = std::move(failure);
    landed_at_ = clock::now();
    traffic_->bytes_sent += bytes_sent();
    ++traffic_->movements;
    ended_.store(true, std::memory_order_release);
  }
  bool ended() const { return ended_.load(std::memory_order_acquire); }

  /// Nobody will ask for it any more. It goes on all the same, for other ranks' sake.
  void abandon() { abandoned_.store(true, std::memory_order_release); }
  /// Whether nobody, on any rank, can gain anything from it.
  bool in_vain() const { return abandoned_.load(std::memory_order_acquire) && peers_ && peers_->in_vain(call_); }

  // Once it has ended:
  clock::time_point landed_at() const { return landed_at_; }
  bool failed() const { return failure_ != nullptr; }
  void rethrow_failure() const {
    if (failure_) std::rethrow_exception(failure_);
  }

  const mpi_call& call() const { return call_; }
  mpi_peers* peers() const { return peers_; }
  /// How often something moved on its channel so far.
  std::uint64_t channel_movements() const { return traffic_->movements.load(std::memory_order_relaxed); }

  void used_processor_for(std::chrono::nanoseconds time) { traffic_->nanoseconds += time.count(); }

  /// Whether the driver's thread drives it, and not callers.
  bool threaded = false;
  /// Whether somebody asked for it and has not let go of it; the business of its channel.
  bool taken = false;

 protected:
  void has_moved() { traffic_->movements.fetch_add(1, std::memory_order_relaxed); }

 private:
  mpi_traffic* traffic_ = nullptr;
  mpi_peers* peers_ = nullptr;
  mpi_call call_;
  std::atomic<bool> ended_{true}, abandoned_{false};
  clock::time_point landed_at_;
  std::exception_ptr failure_;
};

/// Throws the error of the first of `requests` that failed, given what MPI_Testsome or MPI_Waitall returned.
inline void check_mpi(int code, std::span<const MPI_Status> statuses, const char* attempt) {
  if (code == MPI_SUCCESS) return;
  if (code == MPI_ERR_IN_STATUS)
    for (const MPI_Status& status : statuses)
      if (status.MPI_ERROR != MPI_ERR_PENDING) check_mpi(status.MPI_ERROR, attempt);
  check_mpi(code, attempt);
}

}  // namespace syncopate::detail
