#pragma once

#include <cstddef>
#include <memory>

#include "../../statistics.hpp"
#include "../bodies.hpp"
#include "measurement.hpp"
#include "wire.hpp"

namespace syncopate::detail {

/// One operation after the other on the same memory, and when each did what.
class transfer {
 public:
  transfer() = default;  ///< never in flight
  transfer(wire& on, std::size_t element_bytes) : wire_(&on), flight_(on.make_flight(element_bytes)) {}

  /// Collective.
  void start(collective how, void* elements, std::size_t count, bool at_once);
  /// Whether it is complete, or there was none; notes when.
  bool test();
  /// Likewise, where nothing can be done about a transport that fails.
  bool complete() noexcept;
  /// Waits until it is complete. Counts its times once, if `counts`.
  void wait(bool counts, measurement& measured, bucket_statistics& taken);

 private:
  wire* wire_ = nullptr;
  std::unique_ptr<flight> flight_;
  flight::time_point launching_{}, launched_{}, landed_{};  ///< when the call that started it began and ended
  bool in_flight_ = false, counted_ = true;                 ///< whether its times are in the statistics
};

#if SYNCOPATE_BODIES

SYNCOPATE_FUNCTION void transfer::start(collective how, void* elements, std::size_t count, bool at_once) {
  counted_ = false;
  launching_ = wire_->now();
  in_flight_ = flight_->start(how, elements, count, at_once);
  launched_ = landed_ = wire_->now();
}

SYNCOPATE_FUNCTION bool transfer::test() {
  if (!in_flight_) return true;
  if (!flight_->test()) return false;
  in_flight_ = false;
  const auto known = flight_->landed_at();
  landed_ = !known ? wire_->now() : *known < launched_ ? launched_ : *known;
  return true;
}

SYNCOPATE_FUNCTION bool transfer::complete() noexcept try { return !flight_ || flight_->test(); } catch (...) {
  return false;
}

SYNCOPATE_FUNCTION void transfer::wait(bool counts, measurement& measured, bucket_statistics& taken) {
  if (!flight_) return;
  const auto begin = wire_->now();
  if (!test()) {
    flight_->wait();
    in_flight_ = false;
    landed_ = wire_->now();
  }
  // A test may do the summing itself, so what it finds landed may have landed only now.
  if (counted_ || !counts) {
    counted_ = true;
    return;
  }
  counted_ = true;
  const statistics::seconds exposed = launched_ - launching_ + ((begin < landed_ ? landed_ : begin) - begin);
  measured.blocked(exposed);
  measured.in_flight(launching_, landed_);
  taken.exposed += exposed;
  taken.communication += landed_ - launching_;
  taken.launched = launching_;
  taken.landed = landed_;
  taken.awaited = begin;
}

#endif

}  // namespace syncopate::detail
