#pragma once

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "../elements/buffer.hpp"
#include "factors.hpp"
#include "shared_exchange.hpp"

namespace syncopate::detail {

/// A fully connected layer's factors, gathered from all ranks in place of its gradient, which each rank forms: all of
/// it, or, where ranks share the work, its own part.
template <Element T>
class factor_gather : public shared_exchange<T> {
  using base = shared_exchange<T>;
  using typename base::message;

 public:
  factor_gather(const cargo& what, wire& on, measurement& measured)
      : base(what, on, measured), factors_(*what.factors, on.rank(), on.size()), product_(what.factors->product) {
    message_layout layout = this->blocks_of(factors_.part(), what.sharded && what.factors->sharded);
    factors_.cut(what.tensors, layout);
    this->use(std::move(layout));
    for (std::size_t slot = 0; slot < what.slots; ++slot)
      packed_.push_back({buffer<T>(factors_.gathered()), buffer<T>(factors_.exchanged()),
                         factors_.sharded() ? transfer(on, sizeof(T)) : transfer()});
    this->taken_.bytes =
        (factors_.gathered() + factors_.exchanged()) * sizeof(T) + (this->layout_.shared ? this->taken_.bytes : 0);
  }
  ~factor_gather() override {
    for (packed& p : packed_) {
      const bool apart = p.sent_apart.complete();
      if (!this->slots_[number_of(p)].sent.complete()) std::move(p.gathered).abandon();
      if (!apart) std::move(p.exchanged).abandon();
    }
  }
  factor_gather(factor_gather&&) = delete;

  bool packs() const override { return true; }
  void give(const factor_refs& own) override { given_ = own; }
  contribution_facts pack(std::size_t slot, const contribution_plan& plan) override {
    const std::span<T> gathered = packed_[slot].gathered.elements(), exchanged = packed_[slot].exchanged.elements();
    factors_.pack(plan.samples > 0 ? given_ : factor_refs{}, static_cast<T>(plan.samples), gathered, exchanged);
    finiteness<T> seen;
    if (plan.checks)
      for (const std::span<T> part : {factors_.own_of(gathered), exchanged}) seen.look_at(part.data(), part.size());
    if (!seen.all_finite()) factors_.pack(factor_refs{}, T(0), gathered, exchanged);
    return {seen.all_finite(), {}};
  }

  bool test(std::size_t slot) override {
    const bool sent = base::test(slot), apart = packed_[slot].sent_apart.test();
    return sent && apart;
  }
  void land(std::size_t slot) override {
    base::land(slot);
    packed_[slot].sent_apart.wait(base::counts(this->slots_[slot]), this->measured_, this->taken_);
  }
  void serialise(state_visitor& visitor) override {
    base::serialise(visitor);
    for (packed& p : packed_) {
      visitor.vector(role::message, false, p.gathered.elements());
      visitor.vector(role::message, false, p.exchanged.elements());
    }
  }

 protected:
  void write_header(message& m) override {
    coded_header<T>::write(
        factors_.header_of(packed_[number_of(m)].gathered.elements(), static_cast<std::size_t>(this->wire_.rank())),
        m.own);
  }
  void start(message& m, bool) override {
    packed& p = packed_[number_of(m)];
    base::start(m.sent, collective::all_gather, p.gathered);
    if (factors_.sharded()) base::start(p.sent_apart, collective::all_to_all, p.exchanged);
  }
  agreed_headers read(message& m) override {
    const packed& p = packed_[number_of(m)];
    const agreed_headers said = factors_.read(std::span<const T>(p.gathered.elements()), m.own.step);
    factors_.form(std::span<const T>(p.gathered.elements()), std::span<const T>(p.exchanged.elements()),
                  this->part_of_sum(m), product_);
    return said;
  }

 private:
  struct packed {
    buffer<T> gathered, exchanged;
    transfer sent_apart;  ///< what ranks exchange; `message::sent` is what all gather
  };
  std::size_t number_of(const message& m) const { return static_cast<std::size_t>(&m - this->slots_.data()); }
  std::size_t number_of(const packed& p) const { return static_cast<std::size_t>(&p - packed_.data()); }

  factors factors_;
  matrix_product product_;
  factor_refs given_;  ///< of the next message
  std::vector<packed> packed_;
};

}  // namespace syncopate::detail
