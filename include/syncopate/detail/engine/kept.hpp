#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "../../memory_report.hpp"
#include "../elements/mix.hpp"
#include "../elements/slice.hpp"
#include "../elements/state_visitor.hpp"
#include "../exchange/wire.hpp"

/// Visitors that walk through everything that is kept: for `checksum`, `resynchronise` and `memory`.
namespace syncopate::detail {

/// One that treats vectors of both types alike, as bytes, and numbers not at all.
class visitor_of_bytes : public state_visitor {
 public:
  void number(std::int64_t&) override {}
  void number(double&) override {}
  void vector(role of, bool common, std::span<float> kept) override { bytes(of, common, std::as_writable_bytes(kept)); }
  void vector(role of, bool common, std::span<double> kept) override {
    bytes(of, common, std::as_writable_bytes(kept));
  }

 protected:
  virtual void bytes(role of, bool common, std::span<std::byte> kept) = 0;
};

/// Hashes what has to be bitwise the same on all ranks.
class kept_checksum final : public visitor_of_bytes {
 public:
  explicit kept_checksum(std::int64_t clock) : sum_(hash_of(std::to_string(clock))) {}

  /// Where the true weights are the user's: what was bound as gradients.
  void add_read_weights(std::span<const tensor_ref> tensors) {
    for (const std::size_t element_bytes : {sizeof(float), sizeof(double)})
      for (const tensor_ref& tensor : tensors)
        if (tensor.element_bytes == element_bytes)
          add({static_cast<const char*>(tensor.gradient), tensor.size * element_bytes});
  }
  std::uint64_t value() const { return sum_; }

 private:
  void bytes(role, bool common, std::span<std::byte> kept) override {
    if (common) add({reinterpret_cast<const char*>(kept.data()), kept.size()});
  }
  void add(std::string_view bytes) { sum_ = hash_of(bytes, sum_); }

  std::uint64_t sum_;
};

/// Collective. Makes rank 0's what all ranks can have in common.
class kept_broadcast final : public visitor_of_bytes {
 public:
  /// `own_rules`: also the rules' state, where each rank has one of its own.
  kept_broadcast(wire& ranks, bool own_rules) : ranks_(ranks), own_rules_(own_rules) {}

 private:
  void bytes(role of, bool common, std::span<std::byte> kept) override {
    if (common || (own_rules_ && of == role::rule)) ranks_.broadcast(kept, 0);
  }

  wire& ranks_;
  bool own_rules_;
};

/// Counts bytes.
class kept_memory final : public visitor_of_bytes {
 public:
  memory_report report;

 private:
  void bytes(role of, bool, std::span<std::byte> kept) override {
    switch (of) {
      case role::message:
        report.messages += kept.size();
        break;
      case role::weights:
        report.weights += kept.size();
        break;
      case role::predictor:
        report.predictor += kept.size();
        break;
      case role::rule:
        report.rule += kept.size();
        break;
      case role::local_rule:
        report.local_rule += kept.size();
        break;
      case role::merge:
        report.merge += kept.size();
        break;
      case role::observed_sums:
        break;  // a few numbers for each tensor
    }
  }
};

}  // namespace syncopate::detail
