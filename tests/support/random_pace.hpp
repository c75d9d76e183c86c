#pragma once

#include <atomic>
#include <chrono>
#include <random>
#include <thread>

namespace support {

/// Ranks compute for times of their own: mostly none, now and then some microseconds, seldom a pause.
class random_pace {
 public:
  explicit random_pace(int rank) : random_(static_cast<unsigned>(rank)) {}

  void compute() {
    const auto draw = random_() % 1000;
    if (draw < 3) std::this_thread::sleep_for(std::chrono::microseconds(100));
    if (draw % 8 == 0) std::this_thread::yield();
    for (unsigned spin = 0; spin < draw % 64; ++spin) std::atomic_signal_fence(std::memory_order_seq_cst);
  }

 private:
  std::minstd_rand random_;
};

}  // namespace support
