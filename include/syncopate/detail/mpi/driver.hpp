#pragma once

#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "../../error.hpp"
#include "check.hpp"
#include "machine.hpp"
#include "operation.hpp"
#include "peers.hpp"
#include "watch.hpp"

namespace syncopate::detail {

/// Drives the operations of all channels of the process: some from the callers' threads, inside `poll` and `wait`, and
/// some from a thread of its own. There is one of it, so that whoever waits for one operation moves the others, too:
/// another rank may be waiting for those.
class mpi_driver {
  using clock = mpi_operation::clock;
  using operations = std::vector<mpi_operation*>;

 public:
  static mpi_driver& of_process() {
    static mpi_driver driver;
    return driver;
  }
  mpi_driver(const mpi_driver&) = delete;
  mpi_driver& operator=(const mpi_driver&) = delete;
  ~mpi_driver() { stop(); }

  /// Starts an operation that callers drive.
  void start_polled(mpi_operation& operation) {
    watch_mpi();
    const std::lock_guard lock(polling_);
    polled_.push_back(&operation);
    sweep();
    look_again_ = {};
  }

  /// Hands an operation over to the thread.
  void start_threaded(mpi_operation& operation, std::chrono::microseconds longest_sleep) {
    watch_mpi();
    const std::lock_guard lock(mutex_);
    if (!thread_.joinable()) thread_ = std::thread([this] { run(); });
    longest_sleep_ = longest_sleep;
    submitted_.push_back(&operation);
    wake_.notify_one();
  }

  /// Lets what callers drive progress. Looking costs time: after a look in vain there is none until fifty times that
  /// time has passed, though not for longer than the network's buffers last (the look may have been interrupted).
  /// Returns when that was.
  clock::time_point poll() {
    const std::lock_guard lock(polling_);
    const auto begin = clock::now();
    if (begin < look_again_ || polled_.empty() || sweep()) return begin;
    const auto end = clock::now();
    look_again_ = end + std::min<clock::duration>(50 * (end - begin), std::chrono::milliseconds(1));
    return end;
  }

  /// Whether it is over; lets it progress. Throws what went wrong with it, or that ranks are lost that it needs.
  bool test(const mpi_operation& operation) {
    if (!operation.ended()) {
      const auto now = operation.threaded ? mpi_peers::clock::now() : poll();
      if (!operation.ended()) {
        if (mpi_peers* const peers = operation.peers()) {
          peers->look(now);
          peers->check(operation.call());
        }
        return false;
      }
    }
    operation.rethrow_failure();
    return true;
  }

  /// Returns once it is over. Throws what went wrong with it, or that ranks are lost that it needs.
  void wait(const mpi_operation& operation) {
    if (!operation.ended()) {
      if (operation.threaded)
        wait_threaded(operation);
      else
        wait_polled(operation);
    }
    operation.rethrow_failure();
  }

  /// Keeps something until the process ends.
  void keep(std::shared_ptr<void> object) {
    const std::lock_guard lock(mutex_);
    kept_.push_back(std::move(object));
  }

 private:
  mpi_driver() = default;

  /// Drives what callers drive until this one is over: spins at first, then sleeps in between. Throws where it is in
  /// vain to wait.
  void wait_polled(const mpi_operation& operation) {
    constexpr int spins = 200;
    constexpr std::chrono::microseconds first_sleep{10}, longest_sleep{200};
    auto sleep = first_sleep;
    mpi_watch watch(operation);
    for (int idle = 0, looks = 1; !operation.ended(); ++idle, ++looks) {
      if (looks % 16 == 0) watch.look();  // not at all where a sum takes no time
      if (idle < spins) {
        std::this_thread::yield();
      } else {
        std::this_thread::sleep_for(sleep);
        sleep = std::min(2 * sleep, longest_sleep);
      }
      const std::lock_guard lock(polling_);
      if (!sweep()) continue;
      idle = 0;
      sleep = first_sleep;
    }
  }

  /// Sleeps until the thread says that this one is over, but in between drives what callers drive. Throws where it is
  /// in vain to wait.
  void wait_threaded(const mpi_operation& operation) {
    constexpr std::chrono::microseconds short_pause{100}, long_pause{5000};
    const auto over = [&] { return operation.ended(); };
    for (mpi_watch watch(operation); !over(); watch.look()) {
      const auto pause = drives_for_callers() ? short_pause : long_pause;
      std::unique_lock lock(mutex_);
      if (ended_.wait_for(lock, pause, over)) return;
    }
  }

  /// Advances what callers drive. Whether there is any left.
  bool drives_for_callers() {
    const std::lock_guard lock(polling_);
    sweep();
    return !polled_.empty();
  }

  /// Advances what callers drive. Whether that achieved anything.
  bool sweep() {
    bool moved = false;
    auto before = processor_time_of_thread();
    std::erase_if(polled_, [&](mpi_operation* operation) {
      const auto achieved = drive(*operation, [&] {
        const auto now = processor_time_of_thread();
        return now - std::exchange(before, now);
      });
      moved = moved || achieved != mpi_advance::nothing;
      return achieved == mpi_advance::all;
    });
    return moved;
  }

  /// Advances an operation; `time` says what that cost. If it has achieved all, it is not to be touched any more. What
  /// is in vain is left alone: a program that ends after a failure calls MPI_Finalize while the thread is here, and MPI
  /// does not allow that with a call under way (MPICH loses a lock).
  template <class Time>
  static mpi_advance drive(mpi_operation& operation, Time time) {
    std::exception_ptr failure;
    auto achieved = mpi_advance::all;
    try {
      if (operation.in_vain())
        failure = std::make_exception_ptr(communication_error("syncopate: a sum was given up, since a rank is lost"));
      else
        achieved = operation.advance();
    } catch (...) {
      failure = std::current_exception();
    }
    operation.used_processor_for(time());
    if (achieved == mpi_advance::all) operation.end(failure);
    return achieved;
  }

  /// Nobody makes a call after MPI_Finalize has begun: MPI then first deletes what is attached to MPI_COMM_SELF.
  void watch_mpi() {
    std::call_once(watching_, [this] {
      int keyval = MPI_KEYVAL_INVALID;
      const auto stop_driver = [](MPI_Comm, int, void* driver, void*) {
        static_cast<mpi_driver*>(driver)->stop();
        return int{MPI_SUCCESS};
      };
      check_mpi(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, stop_driver, &keyval, nullptr), "note its end");
      check_mpi(MPI_Comm_set_attr(MPI_COMM_SELF, keyval, this), "note its end");
      check_mpi(MPI_Comm_free_keyval(&keyval), "note its end");
    });
  }

  void stop() {
    {
      const std::lock_guard lock(polling_);
      give_up(polled_);
    }
    {
      const std::lock_guard lock(mutex_);
      if (!thread_.joinable()) return;
      stopping_ = true;
      wake_.notify_one();
    }
    thread_.join();
  }

  static void give_up(operations& in_flight) {
    for (mpi_operation* operation : std::exchange(in_flight, {}))
      operation->end(std::make_exception_ptr(
          communication_error("syncopate: MPI was finalized while a sum was in flight; let go of schemes first")));
  }

  void run() {
    use_any_core();
    constexpr std::chrono::microseconds shortest_sleep{20};
    std::chrono::microseconds sleep = shortest_sleep;
    operations active;
    std::unique_lock lock(mutex_);
    auto used_before = processor_time_of_thread();
    for (;;) {
      if (active.empty()) wake_.wait(lock, [&] { return stopping_ || !submitted_.empty(); });
      if (stopping_) break;
      const auto longest_sleep = std::max(longest_sleep_, shortest_sleep);
      if (!submitted_.empty()) sleep = shortest_sleep;
      active.insert(active.end(), submitted_.begin(), submitted_.end());
      submitted_.clear();
      lock.unlock();

      const auto count = static_cast<std::int64_t>(active.size());
      const auto used = processor_time_of_thread();
      const auto share = (used - std::exchange(used_before, used)) / count;
      bool late = false, over = false;
      std::erase_if(active, [&](mpi_operation* operation) {
        const auto achieved = drive(*operation, [&] { return share; });
        late = late || achieved == mpi_advance::much;
        over = over || achieved == mpi_advance::all;
        return achieved == mpi_advance::all;
      });
      // Longer and longer while there is little to do, so that an end is noticed a quarter late at most.
      sleep = std::clamp(late ? sleep / 2 : sleep * 5 / 4, shortest_sleep, longest_sleep);

      lock.lock();
      if (over) ended_.notify_all();
      if (!active.empty()) wake_.wait_for(lock, sleep, [&] { return stopping_ || !submitted_.empty(); });
    }
    give_up(active);
    give_up(submitted_);
    ended_.notify_all();
  }

  std::once_flag watching_;

  std::mutex polling_;  // guards what follows
  operations polled_;
  clock::time_point look_again_{};

  std::mutex mutex_;  // guards what follows
  std::condition_variable wake_, ended_;
  operations submitted_;
  std::chrono::microseconds longest_sleep_{0};
  std::vector<std::shared_ptr<void>> kept_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace syncopate::detail
