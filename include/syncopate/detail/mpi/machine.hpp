#pragma once

#include <chrono>
#include <cstddef>
#include <thread>

#if defined(__linux__)
#include <pthread.h>
#include <sched.h>
#include <unistd.h>
#endif
#include <ctime>

/// What the standard library does not say about threads and cores.
namespace syncopate::detail {

/// Processor time that the calling thread has used.
inline std::chrono::nanoseconds processor_time_of_thread() {
#if defined(CLOCK_THREAD_CPUTIME_ID)
  std::timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
#else
  return std::chrono::nanoseconds(0);
#endif
}

/// MPI launchers bind a rank to a core, which a thread inherits; then it would only take turns with the computation.
inline void use_any_core() {
#if defined(__linux__)
  cpu_set_t all;
  CPU_ZERO(&all);
  for (std::size_t core = 0; core < CPU_SETSIZE; ++core) CPU_SET(core, &all);
  pthread_setaffinity_np(pthread_self(), sizeof all, &all);  // of which the kernel takes those that there are
#endif
}

/// Cores of this machine, whatever this process is bound to.
inline int cores_of_machine() {
#if defined(__linux__)
  return static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN));
#else
  return static_cast<int>(std::thread::hardware_concurrency());
#endif
}

}  // namespace syncopate::detail
