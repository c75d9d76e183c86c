#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>

#include "slotted_exchange.hpp"
#include "weights_back.hpp"

namespace syncopate::detail {

/// An exchange whose ranks may share the work: each keeps its block of the sum up to date, and weights come back in a
/// second leg.
template <Element T>
class shared_exchange : public slotted_exchange<T> {
 protected:
  using base = slotted_exchange<T>;
  using typename base::message;

 public:
  shared_exchange(const cargo& what, wire& on, measurement& measured)
      : base(what, on, measured), sharded_(what.sharded), all_(what.slots) {}
  ~shared_exchange() override {
    if (back_ && !back_->complete()) std::move(this->slots_[under_way_].elements).abandon();
  }
  shared_exchange(shared_exchange&&) = delete;

  void send(std::size_t slot, const header& own, bool due_at_launch) override {
    all_[slot].reset();
    base::send(slot, own, due_at_launch);
  }

  void send_weights(std::size_t slot, const void* weights) override {
    if (!sharded_) return;
    under_way_ = slot;
    waited_for_ = false;
    weights_ = static_cast<const T*>(weights);
    message& m = this->slots_[slot];
    if (back_) back_->send(m.elements, weights, m.own, *m.received, m.squares);
  }
  void receive_weights(std::span<const tensor_ref> tensors) override {
    if (waited_for_) return;
    const message& m = this->slots_[under_way_];
    if (back_) {
      back_->wait(base::counts(m), this->measured_, this->taken_);
      all_[under_way_] = back_->read(m.elements, this->wire_.size(), m.own.step);
    }
    waited_for_ = true;
    const T* const all = back_ ? m.elements.data() : weights_;
    for (const slice& s : this->layout_.sent)
      std::copy_n(all + s.offset, s.size, tensors[s.tensor].template weights_as<T>() + s.from);
  }
  bool test(std::size_t slot) override {
    const bool sent = base::test(slot), back = !back_ || back_->test();
    return sent && (back || slot != under_way_);
  }

  const agreed_headers& headers(std::size_t slot) override { return back_ ? *all_[slot] : this->receive(slot); }
  double squares_of_all(std::size_t slot) override {
    const message& m = this->slots_[slot];
    return back_ ? back_->squares(m.elements, this->wire_.size()) : m.squares;
  }

 protected:
  /// The layout of blocks of `size` elements, one for each rank, or of one, that all ranks have.
  message_layout blocks_of(std::size_t size, bool shared) {
    const auto ranks = static_cast<std::size_t>(this->wire_.size());
    message_layout layout;
    layout.shared = shared;
    layout.blocks = shared ? ranks : 1;
    layout.own = shared ? static_cast<std::size_t>(this->wire_.rank()) : 0;
    layout.size = size;
    layout.stride = size + (shared ? this->header_length_ + block_sums : this->header_length_ * ranks);
    return layout;
  }
  /// Takes the layout, slices and all.
  void use(message_layout layout) {
    this->lay_out(std::move(layout));
    if (this->layout_.shared) back_.emplace(this->wire_, this->layout_, this->header_length_);
  }

 private:
  bool sharded_;                                    ///< whether weights come back at all
  std::optional<weights_back<T>> back_;             ///< where ranks have blocks of their own
  std::vector<std::optional<agreed_headers>> all_;  ///< what was said with a message whose weights have come back
  std::size_t under_way_ = 0;                       ///< the slot whose weights were sent last
  bool waited_for_ = true;                          ///< whether these have come back
  const T* weights_ = nullptr;  ///< what was to be sent; where all ranks have all of it, it stays here
};

}  // namespace syncopate::detail
