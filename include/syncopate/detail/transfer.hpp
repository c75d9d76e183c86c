#pragma once

#include <algorithm>
#include <optional>
#include <utility>

#include "../statistics.hpp"
#include "measurement.hpp"

namespace syncopate::detail {

/// A request of a communicator's, and when it did what.
template <class R>
struct transfer {
  using clock = measurement::clock;

  std::optional<R> request{};
  clock::time_point launching{}, launched{}, landed{};  ///< when the call that started it began and ended
  bool counted = true;                                  ///< whether its times are in the statistics

  /// Starts it: `start()` returns a request, or nothing if all is done already.
  template <class Start>
  void start(Start call) {
    counted = false;
    launching = clock::now();
    request = call();
    launched = landed = clock::now();
  }

  /// Whether it is complete; notes when.
  bool test() {
    if (!request) return true;
    if (!request->test()) return false;
    if constexpr (requires { request->landed_at(); })
      landed = std::max(launched, request->landed_at());
    else
      landed = clock::now();
    request.reset();
    return true;
  }

  bool complete() noexcept try { return !request || request->test(); } catch (...) {
    return false;
  }

  /// Waits until it is complete. Counts its times once, if `counts`.
  void wait(bool counts, measurement& measured, bucket_statistics& taken) {
    const auto begin = clock::now();
    if (!test()) {
      request->wait();
      request.reset();
      landed = clock::now();
    }
    // A test may do the summing itself, so what it finds landed may have landed only now.
    if (std::exchange(counted, true) || !counts) return;
    const statistics::seconds exposed = launched - launching + (std::max(begin, landed) - begin);
    measured.blocked(exposed);
    measured.in_flight(launching, landed);
    taken.exposed += exposed;
    taken.communication += landed - launching;
    taken.launched = launching;
    taken.landed = landed;
    taken.awaited = begin;
  }
};

}  // namespace syncopate::detail
