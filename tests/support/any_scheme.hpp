#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <sstream>
#include <string>
#include <utility>

#include "syncopate/checkpoint.hpp"
#include "syncopate/statistics.hpp"
#include "syncopate/tensor.hpp"
#include "syncopate/training_signal.hpp"

namespace support {

/// Any scheme for models of type W behind one type, so that what trains is compiled once and not for each scheme.
template <class W>
class any_scheme {
 public:
  template <class S>
  requires(!std::same_as<S, any_scheme>) explicit any_scheme(S scheme)
      : held_(std::make_unique<holder<S>>(std::move(scheme))) {}

  void step(W& weights, const W& gradients, double samples = 1) { held_->step(weights, gradients, samples); }
  void begin_step(W& weights, double samples = 1) { held_->begin_step(weights, samples); }
  /// Hands in a layer of `gradients`, of which the others are not looked at.
  void gradient_ready(std::size_t layer, const W& gradients) { held_->gradient_ready(layer, gradients); }
  void end_step() { held_->end_step(); }
  void note_loss(double loss) { held_->note_loss(loss); }
  const syncopate::training_signal& signal() const { return held_->signal(); }
  void before_forward(std::size_t layer) { held_->before_forward(layer); }
  void poll() { held_->poll(); }
  void consensus(const W& weights, W& out) { held_->consensus(weights, out); }
  void join(W& weights) { held_->join(weights); }
  void finish(W& weights) { held_->finish(weights); }
  std::string save(const W& weights) { return held_->save(weights); }
  void load(const std::string& checkpoint, W& weights) { held_->load(checkpoint, weights); }
  std::uint64_t checksum(const W& weights) { return held_->checksum(weights); }
  syncopate::statistics statistics() const { return held_->statistics(); }

 private:
  struct interface {
    virtual ~interface() = default;
    virtual void step(W&, const W&, double) = 0;
    virtual void begin_step(W&, double) = 0;
    virtual void gradient_ready(std::size_t, const W&) = 0;
    virtual void end_step() = 0;
    virtual void note_loss(double) = 0;
    virtual const syncopate::training_signal& signal() const = 0;
    virtual void before_forward(std::size_t) = 0;
    virtual void poll() = 0;
    virtual void consensus(const W&, W&) = 0;
    virtual void join(W&) = 0;
    virtual void finish(W&) = 0;
    virtual std::string save(const W&) = 0;
    virtual void load(const std::string&, W&) = 0;
    virtual std::uint64_t checksum(const W&) = 0;
    virtual syncopate::statistics statistics() const = 0;
  };

  template <class S>
  struct holder final : interface {
    explicit holder(S scheme) : scheme_(std::move(scheme)) {}
    void step(W& weights, const W& gradients, double samples) override { scheme_.step(weights, gradients, samples); }
    void begin_step(W& weights, double samples) override { scheme_.begin_step(weights, samples); }
    void gradient_ready(std::size_t layer, const W& gradients) override {
      std::size_t number = 0;
      syncopate::for_each_layer(gradients, [&](const auto& gradient) {
        if (number++ == layer) scheme_.gradient_ready(layer, gradient);
      });
    }
    void end_step() override { scheme_.end_step(); }
    void note_loss(double loss) override { scheme_.note_loss(loss); }
    const syncopate::training_signal& signal() const override { return scheme_.signal(); }
    void before_forward(std::size_t layer) override { scheme_.before_forward(layer); }
    void poll() override { scheme_.poll(); }
    void consensus(const W& weights, W& out) override { scheme_.consensus(weights, out); }
    void join(W& weights) override { scheme_.join(weights); }
    void finish(W& weights) override { scheme_.finish(weights); }
    std::string save(const W& weights) override {
      std::ostringstream stream;
      syncopate::checkpoint_writer archive(stream);
      scheme_.save(archive, weights);
      archive.finish();
      return stream.str();
    }
    void load(const std::string& checkpoint, W& weights) override {
      std::istringstream stream(checkpoint);
      syncopate::checkpoint_reader archive(stream);
      scheme_.load(archive, weights);
      archive.finish();
    }
    std::uint64_t checksum(const W& weights) override { return scheme_.checksum(weights); }
    syncopate::statistics statistics() const override { return scheme_.statistics(); }
    S scheme_;
  };

  std::unique_ptr<interface> held_;
};

}  // namespace support
