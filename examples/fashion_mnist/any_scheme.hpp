#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "network.hpp"
#include "progress.hpp"
#include "syncopate/checkpoint.hpp"
#include "syncopate/statistics.hpp"
#include "syncopate/training_signal.hpp"

namespace fashion_mnist {

/// What the training loop needs of a scheme, whichever it is. So the loop is compiled once and not once for each
/// scheme; a virtual call per step is nothing next to a product of matrices.
class any_scheme {
 public:
  using model = parameters<float>;

  virtual ~any_scheme() = default;
  virtual void set_learning_rate(double learning_rate) = 0;
  virtual void poll() = 0;
  virtual void note_loss(double loss) = 0;
  virtual const syncopate::training_signal& signal() const = 0;
  virtual void step(model& weights, model& gradients, std::size_t samples) = 0;
  virtual void begin_step(model& weights, std::size_t samples) = 0;
  virtual void before_forward(std::size_t layer) = 0;
  virtual void gradient_ready(std::size_t layer, model& gradients) = 0;
  virtual void factors_ready(std::size_t layer, std::span<const float> activations, std::span<const float> errors) = 0;
  virtual void end_step() = 0;
  virtual void consensus(model& weights, model& out) = 0;
  virtual void finish(model& weights) = 0;
  virtual void save(const std::filesystem::path& file, model& weights, const progress& made) = 0;
  /// False if there is no such file.
  virtual bool load(const std::filesystem::path& file, model& weights, progress& made) = 0;
  virtual syncopate::statistics statistics() const = 0;

  /// How the gradient of each layer travels that is handed in as factors: a line for each.
  std::vector<std::pair<std::size_t, std::string>> exchanges;
};

template <class Scheme>
std::unique_ptr<any_scheme> erase(Scheme scheme) {
  class erased final : public any_scheme {
   public:
    explicit erased(Scheme&& known) : scheme_(std::move(known)) {}
    void set_learning_rate(double learning_rate) override { scheme_.rule().learning_rate = learning_rate; }
    void poll() override { scheme_.poll(); }
    void note_loss(double loss) override { scheme_.note_loss(loss); }
    const syncopate::training_signal& signal() const override { return scheme_.signal(); }
    void step(model& weights, model& gradients, std::size_t samples) override {
      scheme_.step(weights, gradients, static_cast<double>(samples));
    }
    void begin_step(model& weights, std::size_t samples) override {
      scheme_.begin_step(weights, static_cast<double>(samples));
    }
    void before_forward(std::size_t layer) override { scheme_.before_forward(layer); }
    void gradient_ready(std::size_t layer, model& gradients) override {
      scheme_.gradient_ready(layer, gradients[layer]);
    }
    void factors_ready(std::size_t layer, std::span<const float> activations, std::span<const float> errors) override {
      scheme_.factors_ready(layer, activations, errors);
    }
    void end_step() override { scheme_.end_step(); }
    void consensus(model& weights, model& out) override { scheme_.consensus(weights, out); }
    void finish(model& weights) override { scheme_.finish(weights); }
    void save(const std::filesystem::path& file, model& weights, const progress& made) override {
      syncopate::save_checkpoint(file, scheme_, weights, made.job, made.step, made.loss, made.test_accuracy,
                                 made.train_loss, made.epoch, made.position, made.steps_in_epoch, made.growth);
    }
    bool load(const std::filesystem::path& file, model& weights, progress& made) override {
      return syncopate::load_checkpoint(file, scheme_, weights, made.job, made.step, made.loss, made.test_accuracy,
                                        made.train_loss, made.epoch, made.position, made.steps_in_epoch, made.growth);
    }
    syncopate::statistics statistics() const override { return scheme_.statistics(); }

   private:
    Scheme scheme_;
  };
  return std::make_unique<erased>(std::move(scheme));
}

}  // namespace fashion_mnist
