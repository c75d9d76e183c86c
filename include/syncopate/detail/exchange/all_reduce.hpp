#pragma once

#include <cstddef>
#include <span>
#include <utility>

#include "slotted_exchange.hpp"

namespace syncopate::detail {

/// One sum of all elements, on every rank. Headers of all ranks lie at its end.
template <Element T>
class all_reduce : public slotted_exchange<T> {
 protected:
  using base = slotted_exchange<T>;
  using typename base::message;

 public:
  all_reduce(const cargo& what, wire& on, measurement& measured) : base(what, on, measured) {
    message_layout layout;
    for (const slice& tensor : what.tensors) layout.size += tensor.size;
    layout.stride = layout.size + this->header_length_ * static_cast<std::size_t>(on.size());
    layout.cut(what.tensors);
    this->lay_out(std::move(layout));
  }

 protected:
  void write_header(message& m) override {
    const std::span<T> all = headers_of(m);
    for (T& element : all) element = T(0);
    coded_header<T>::write(
        all.subspan(static_cast<std::size_t>(this->wire_.rank()) * this->header_length_, this->header_length_), m.own);
  }
  void start(message& m, bool due_at_launch) override {
    base::start(m.sent, collective::sum, m.elements, due_at_launch);
  }
  agreed_headers read(message& m) override {
    return read_headers(std::span<const T>(headers_of(m)), this->header_length_, m.own.step, this->ranks_differ_);
  }

 private:
  std::span<T> headers_of(const message& m) const { return m.elements.elements().subspan(this->layout_.size); }
};

}  // namespace syncopate::detail
