#pragma once

#include <cstddef>
#include <span>
#include <utility>

#include "block_header.hpp"
#include "shared_exchange.hpp"

namespace syncopate::detail {

/// A sum of which each rank gets its own block, of equal length, whatever tensors that cuts. Each block ends with a
/// header that is summed.
template <Element T>
class reduce_scatter : public shared_exchange<T> {
  using base = shared_exchange<T>;
  using typename base::message;

 public:
  reduce_scatter(const cargo& what, wire& on, measurement& measured) : base(what, on, measured) {
    std::size_t elements = 0;
    for (const slice& tensor : what.tensors) elements += tensor.size;
    const auto ranks = static_cast<std::size_t>(on.size());
    message_layout layout = this->blocks_of((elements + ranks - 1) / ranks, true);
    layout.cut(what.tensors);
    this->use(std::move(layout));
  }

 protected:
  void write_header(message& m) override {
    for (std::size_t block = 0; block < this->layout_.blocks; ++block) write_summed_header(header_of(m, block), m.own);
  }
  void start(message& m, bool) override { base::start(m.sent, collective::reduce_scatter, m.elements); }
  agreed_headers read(message& m) override {
    return read_summed_header(std::span<const T>(header_of(m, this->layout_.own)), this->wire_.size());
  }

 private:
  std::span<T> header_of(const message& m, std::size_t block) const {
    const std::size_t length = this->layout_.stride - this->layout_.size;
    return m.elements.elements().subspan((block + 1) * this->layout_.stride - length, length);
  }
};

}  // namespace syncopate::detail
