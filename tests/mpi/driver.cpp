// Who drives operations, tried with operations that need no messages. The thread sanitizer sees all of it.
#include "syncopate/detail/mpi/driver.hpp"

#include <mpi.h>

#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <cstddef>
#include <memory>
#include <set>
#include <thread>
#include <vector>

#include "syncopate/error.hpp"

#if defined(__linux__)
#include <sched.h>
#endif

namespace {

using namespace syncopate::detail;
using namespace std::chrono_literals;

int cores_of_this_thread() {
#if defined(__linux__)
  cpu_set_t cores;
  sched_getaffinity(0, sizeof cores, &cores);
  return CPU_COUNT(&cores);
#else
  return 1;
#endif
}

/// Is over after so many looks.
class countdown final : public mpi_operation {
 public:
  explicit countdown(int looks, bool fails = false) : looks_(looks), fails_(fails) {}

  mpi_advance advance() override {
    driven_by = std::this_thread::get_id();
    driver_cores = cores_of_this_thread();
    ++result;  // as a sum does, without a lock
    if (--looks_ > 0) return looks_ % 3 == 0 ? mpi_advance::nothing : mpi_advance::little;
    if (fails_) throw syncopate::communication_error("syncopate: this sum fails");
    return mpi_advance::all;
  }
  std::size_t bytes_sent() const override { return 7; }

  std::thread::id driven_by;
  int driver_cores = 0;
  int result = 0;

 private:
  int looks_;
  bool fails_;
};

void start(countdown& operation, mpi_traffic& traffic, bool on_thread) {
  operation.prepare(traffic, on_thread);
  if (on_thread)
    mpi_driver::of_process().start_threaded(operation, 100us);
  else
    mpi_driver::of_process().start_polled(operation);
}

void poll(const mpi_operation& operation) {
  while (!mpi_driver::of_process().test(operation)) std::this_thread::yield();
}

}  // namespace

TEST_CASE("An operation ends, is counted, and says when", "[mpi][driver]") {
  const bool on_thread = GENERATE(false, true), polling = GENERATE(false, true);
  mpi_traffic traffic;
  const auto before = mpi_operation::clock::now();
  for (int looks = 1; looks < 50; ++looks) {
    countdown operation(looks);
    start(operation, traffic, on_thread);
    polling ? poll(operation) : mpi_driver::of_process().wait(operation);
    CHECK(operation.result == looks);
    CHECK(mpi_driver::of_process().test(operation));
    mpi_driver::of_process().wait(operation);
    CHECK(operation.result == looks);
    CHECK(operation.landed_at() >= before);
    CHECK(operation.landed_at() <= mpi_operation::clock::now());
    CHECK(traffic.bytes_sent == 7 * static_cast<unsigned>(looks));
  }
  CHECK(traffic.nanoseconds > 0);
}

TEST_CASE("What goes wrong with an operation is reported whenever it is looked at, and concerns no other",
          "[mpi][driver]") {
  const bool on_thread = GENERATE(false, true);
  const int looks = GENERATE(1, 20);
  mpi_traffic traffic;
  countdown before(10), failing(looks, true), after(10);
  for (countdown* operation : {&before, &failing, &after}) start(*operation, traffic, on_thread);
  CHECK_THROWS_WITH(mpi_driver::of_process().wait(failing), "syncopate: this sum fails");
  CHECK_THROWS_AS(mpi_driver::of_process().wait(failing), syncopate::communication_error);
  CHECK_THROWS_AS(mpi_driver::of_process().test(failing), syncopate::communication_error);
  mpi_driver::of_process().wait(after);
  poll(before);

  countdown tested(looks, true);
  start(tested, traffic, on_thread);
  CHECK_THROWS_WITH(poll(tested), "syncopate: this sum fails");
}

TEST_CASE("Who waits for one operation moves all that callers drive", "[mpi][driver]") {
  const bool on_thread = GENERATE(false, true);
  mpi_traffic traffic;
  countdown other(30);
  start(other, traffic, false);

  // One that is over only when the other one is.
  class follower final : public mpi_operation {
   public:
    explicit follower(const mpi_operation& first) : first_(first) {}
    mpi_advance advance() override { return first_.ended() ? mpi_advance::all : mpi_advance::nothing; }
    std::size_t bytes_sent() const override { return 0; }

   private:
    const mpi_operation& first_;
  } second(other);
  second.prepare(traffic, on_thread);
  if (on_thread)
    mpi_driver::of_process().start_threaded(second, 100us);
  else
    mpi_driver::of_process().start_polled(second);
  mpi_driver::of_process().wait(second);
  CHECK(other.ended());
  CHECK(other.result == 30);
}

TEST_CASE("One thread drives all operations that are its own, on any core", "[mpi][driver]") {
  mpi_traffic traffic;
  std::vector<std::unique_ptr<countdown>> operations;
  for (int i = 0; i < 40; ++i) operations.push_back(std::make_unique<countdown>(1 + i % 7));
  for (const auto& operation : operations) start(*operation, traffic, true);
  for (const auto& operation : operations) mpi_driver::of_process().wait(*operation);
  std::set<std::thread::id> threads;
  for (const auto& operation : operations) threads.insert(operation->driven_by);
  CHECK(threads.size() == 1);
  CHECK(!threads.contains(std::this_thread::get_id()));

  // What a thread may use that has asked for any core, whatever mpirun has bound the rank to.
  int most_cores = 0;
  std::thread([&] {
    use_any_core();
    most_cores = cores_of_this_thread();
  }).join();
  for (const auto& operation : operations) CHECK(operation->driver_cores == most_cores);
}

TEST_CASE("Callers drive their operations in their own thread", "[mpi][driver]") {
  mpi_traffic traffic;
  countdown operation(20);
  start(operation, traffic, false);
  poll(operation);
  CHECK(operation.driven_by == std::this_thread::get_id());
}

TEST_CASE("Operations of several threads at once", "[mpi][driver]") {
  constexpr int threads = 3, rounds = 300;
  mpi_traffic traffic;
  std::atomic<int> mistakes = 0;
  std::vector<std::thread> users;
  for (int user = 0; user < threads; ++user)
    users.emplace_back([&, user] {
      for (int round = 0; round < rounds; ++round) {
        const int looks = 1 + (round + user) % 9;
        countdown a(looks), b(looks), c(looks, true);
        start(a, traffic, true);
        start(b, traffic, false);
        start(c, traffic, round % 2 == 0);
        round % 3 == 0 ? poll(a) : mpi_driver::of_process().wait(a);
        round % 3 == 1 ? poll(b) : mpi_driver::of_process().wait(b);
        try {
          mpi_driver::of_process().wait(c);
          ++mistakes;
        } catch (const syncopate::communication_error&) {
        }
        mistakes += a.result != looks || b.result != looks || c.result != looks;
      }
    });
  for (std::thread& user : users) user.join();
  CHECK(mistakes == 0);
  CHECK(traffic.bytes_sent == 7u * 3 * threads * rounds);
}
