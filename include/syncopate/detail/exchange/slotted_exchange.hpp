#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "../../tensor.hpp"
#include "../elements/buffer.hpp"
#include "../elements/finite.hpp"
#include "exchange.hpp"
#include "header.hpp"
#include "measurement.hpp"
#include "transfer.hpp"

namespace syncopate::detail {

/// What exchanges have in common: one message for each slot, its memory, and what was said with it.
template <Element T>
class slotted_exchange : public exchange {
 public:
  slotted_exchange(const cargo& what, wire& on, measurement& measured)
      : observes_squares_(what.squares),
        ranks_differ_(what.ranks_differ),
        header_length_(what.observes ? observing_header_elements : header_elements),
        wire_(on),
        measured_(measured),
        slots_(what.slots) {
    for (message& m : slots_) m.sent = transfer(on, sizeof(T));
  }
  /// Memory that a transport may still write to is given up, not freed.
  ~slotted_exchange() override {
    for (message& m : slots_)
      if (!m.sent.complete()) std::move(m.elements).abandon();
  }
  slotted_exchange(slotted_exchange&&) = delete;

  const message_layout& layout() const override { return layout_; }
  void* contribution(std::size_t slot) override { return slots_[slot].elements.data(); }

  void send(std::size_t slot, const header& own, bool due_at_launch) override {
    message& m = slots_[slot];
    m.own = own;
    m.received.reset();
    write_header(m);
    start(m, due_at_launch);
    measured_.taken.bytes += taken_.bytes;
  }
  bool test(std::size_t slot) override { return slots_[slot].sent.test(); }
  void land(std::size_t slot) override {
    message& m = slots_[slot];
    m.sent.wait(counts(m), measured_, taken_);
  }
  const agreed_headers& receive(std::size_t slot) override {
    land(slot);
    message& m = slots_[slot];
    if (!m.received) {
      m.received = read(m);
      if (observes_squares_) m.squares = sum_of_squares(std::span<const T>(part_of_sum(m)));
    }
    return *m.received;
  }
  void* sum(std::size_t slot) override { return part_of_sum(slots_[slot]).data(); }
  double squares(std::size_t slot) override { return slots_[slot].squares; }

  void serialise(state_visitor& visitor) override {
    for (message& m : slots_) {
      visitor.number(m.own.step);
      visitor.as<std::int64_t>(m.own.call);
      visitor.as<std::int64_t>(m.own.finite);
      for (double* const number :
           {&m.own.samples, &m.own.loss, &m.own.squares.all, &m.own.squares.latest, &m.own.squares.earlier})
        visitor.number(*number);
      visitor.as<std::int64_t>(m.own.hyperparameters);
      visitor.vector(role::message, false, m.elements.elements());
    }
  }
  const bucket_statistics& taken() const override { return taken_; }

 protected:
  struct message {
    buffer<T> elements;  ///< contributions, then their sum; headers
    transfer sent;
    header own;                              ///< what this rank said with it
    std::optional<agreed_headers> received;  ///< what all ranks said, once it was received
    double squares = 0;                      ///< of this rank's part of the sum, if wanted
  };

  /// Writes what this rank says, `own`, behind or among the contributions.
  virtual void write_header(message& m) = 0;
  /// Collective. Sends a message whose contributions and header are there.
  virtual void start(message& m, bool due_at_launch) = 0;
  /// What was said with a message that has landed.
  virtual agreed_headers read(message& m) = 0;

  /// Takes the layout, and makes room for messages of it. To be called once, by the constructor of what derives from
  /// this.
  void lay_out(message_layout layout) {
    layout_ = std::move(layout);
    for (message& m : slots_) m.elements = buffer<T>(layout_.elements());
    taken_.bytes = layout_.elements() * sizeof(T);
  }
  /// The sum's elements that this rank keeps up to date.
  std::span<T> part_of_sum(const message& m) const {
    return m.elements.elements().subspan(layout_.first(), layout_.size);
  }
  /// The end of training is no part of what is measured.
  static bool counts(const message& m) { return m.own.call == calls::step; }

  /// Collective. Memory that a failed start may have left with the transport is given up.
  static void start(transfer& moving, collective how, buffer<T>& memory, bool at_once = false) {
    try {
      moving.start(how, memory.data(), memory.size(), at_once);
    } catch (...) {
      std::move(memory).abandon();
      throw;
    }
  }

  bool observes_squares_, ranks_differ_;
  std::size_t header_length_;  ///< of one rank
  wire& wire_;
  measurement& measured_;
  message_layout layout_;
  std::vector<message> slots_;
  bucket_statistics taken_;
};

}  // namespace syncopate::detail
