#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <type_traits>

#include "combination.hpp"
#include "detail/engine/archive_visitor.hpp"
#include "detail/engine/combine.hpp"
#include "detail/engine/engine.hpp"
#include "detail/scheme_checks.hpp"
#include "scheme_base.hpp"
#include "tensor.hpp"

namespace syncopate {

/// What any scheme does with tensors, whatever its policies and communicator. `Elements` is the model's element type:
/// `float`, `double`, or `std::tuple<float, double>` for a model with both. Training loops that take a reference to it
/// are compiled once, and not for each scheme. See `update_scheme` for what is collective, and what becomes of errors.
template <class Elements>
class scheme_of : public scheme_base {
 public:
  /// Collective. One step of training: hands in this rank's mini-batch mean gradient, and leaves in `weights` what the
  /// next gradient is to be computed at. The gradient may be overwritten as soon as the call returns.
  ///
  /// `samples` is this rank's weight in the mean: the size of its mini-batch, in any unit that is the same on all
  /// ranks. The gradient of a rank that has none is not looked at; if no rank has any, nothing is absorbed. A total
  /// that is no power of two costs one more pass over the message. Hyper-parameters in force are those when the mean
  /// became due.
  ///
  /// Gradients of steps at which the delay policy launches no message travel with the next one, as a sum over steps, so
  /// that a mean is worth as many steps of a learning rate. A rank's weight in it is then the mean of its `samples`.
  ///
  /// Throws `layout_error` where tensors have other sizes than at construction or share memory, `configuration_error`
  /// for hyper-parameters that make no sense any more, `usage_error` after `finish`; nothing has happened then. On all
  /// ranks, as `scheme_options` says, it throws `non_finite_error`; the step has then been made but for the mean.
  template <class W, class G>
  void step(W&& weights, G&& gradients, double samples = 1) {
    detail::check_weights<W, Elements>();
    detail::check_gradients<G, Elements>();
    guarded("step", [&](detail::engine& engine) {
      engine.prepare("step", samples);
      bind_weights(weights);
      engine.require_gradients("step");
      bind_to_read(gradients, "gradients");
      engine.model().check();
      engine.step(samples);
    });
  }

  /// Begins a step that is made layer by layer: see `scheme_base`. All ranks make the same calls of this and
  /// `end_step`. Weights have to stay where they are until the next `begin_step` or `finish`. Throws as `step` does,
  /// `non_finite_error` at the next `before_forward`. With a delay policy that learns from means (`lazy_delay`) it
  /// waits for all layers, and throws that itself, since what has arrived decides what is to leave.
  template <class W>
  void begin_step(W&& weights, double samples = 1) {
    detail::check_weights<W, Elements>();
    guarded("begin_step", [&](detail::engine& engine) {
      engine.prepare("begin_step", samples);
      bind_weights(weights);
      engine.model().check();
      engine.begin_step(samples);
    });
  }

  /// Hands in the gradient of one layer, which has to stay where it is until `end_step`. What travels together leaves
  /// when all of it is there, in the order of backward whatever the order of calls; in `end_step`, where all gradients
  /// are needed first: for averagings that move each rank's weights by its own, and norms that are bounded before
  /// averaging. Throws `usage_error` for a layer that is not there, was given before in this step, or has not been
  /// through `before_forward` since the last one, and `layout_error` as `step` does; the step goes on as if it had not
  /// been called.
  template <class G>
  void gradient_ready(std::size_t layer, G&& gradient) {
    detail::check_gradient_of_layer<G, Elements>();
    guarded("gradient_ready", [&](detail::engine& engine) {
      const auto wanted = engine.expect_layer("gradient_ready", layer);
      engine.require_gradient(layer, "gradient_ready");
      detail::bind<false>(engine.model(), gradient, wanted);
      engine.model().check();
      engine.gradient_ready(layer);
    });
  }

  /// Hands in the gradient of one of `scheme_options::factored_layers` as its factors: the activations that went into
  /// it, and the errors that came back, row by row, such that activationsᵀ · errors is the gradient. Otherwise as
  /// `gradient_ready`; throws `layout_error` where the two are of different mini-batches, too.
  template <class X, class E>
  void factors_ready(std::size_t layer, const X& activations, const E& errors) {
    detail::check_factors<X, E, Elements>();
    guarded("factors_ready", [&](detail::engine& engine) {
      engine.expect_layer("factors_ready", layer);
      engine.give_factors(layer, detail::one_tensor(activations), detail::one_tensor(errors));
      engine.gradient_ready(layer);
    });
  }

  /// Collective. For a rank that has no mini-batch left, while others may have: takes part in their steps, with weight
  /// zero, until all ranks have joined. All that was in flight is absorbed then, and training may go on, say with the
  /// next epoch. Costs one message, even if all ranks join after the same number of steps.
  template <class W>
  void join(W&& weights) {
    detail::check_weights<W, Elements>();
    guarded("join", [&](detail::engine& engine) {
      engine.prepare_join();
      bind_weights(weights);
      engine.join();
    });
  }

  /// Collective. Writes to `out` the model to evaluate or to save: the weights without any prediction, or, where ranks
  /// hold weights of their own, their mean. `out` is a model of the same layout, may be `weights`, and is bitwise the
  /// same on all ranks. Training goes on undisturbed.
  template <class W, class O>
  void consensus(W&& weights, O&& out) {
    detail::check_weights<W, Elements>();
    detail::check_weights<O, Elements>();
    guarded("consensus", [&](detail::engine& engine) {
      engine.require_between_steps("consensus");
      engine.receive_all();
      bind_to_read(weights, "weights");
      bind_weights(out);
      engine.agree_on_weights();
    });
  }

  /// Collective. Ends training: joins, so that ranks may have made different numbers of steps, and leaves the consensus
  /// in `weights`. Throws `usage_error` when called again.
  template <class W>
  void finish(W&& weights) {
    engine("finish").require_unfinished();
    join(weights);
    guarded("finish", [&](detail::engine& engine) {
      bind_to_read(weights, "weights");
      engine.finish();
    });
  }

  /// Writes `weights` and everything that the scheme keeps to an archive in Boost.Serialization's idiom: `archive & x`
  /// for numbers, and `save_binary(address, bytes)`, if it has that. What is in flight is waited for and stored, not
  /// absorbed, so that training goes on here, or from `load`, with bitwise the same results. Each rank writes an
  /// archive of its own, between the same two steps; hyper-parameters are the program's to restore. See also
  /// checkpoint.hpp.
  template <class Archive, class W>
  void save(Archive& archive, W&& weights) {
    detail::check_weights<W, Elements>();
    guarded("save", [&](detail::engine& engine) {
      engine.require_between_running_steps("save");
      engine.receive_all();
      bind_to_read(weights, "weights");
      detail::archive_writer<Archive> writer(archive);
      engine.save(writer);
    });
  }

  /// Collective. Puts a new scheme, and `weights`, into the state in which `save` found this rank's. Communicators may
  /// be others; tensors, policies and the number of ranks may not. Throws `checkpoint_error` on all ranks where some
  /// rank's archive cannot be read, or belongs to another layout, scheme, version or rank, or to another step than the
  /// others'; weights and scheme may be half written then. (load_checkpoint in checkpoint.hpp looks first whether a
  /// file is whole.)
  template <class Archive, class W>
  void load(Archive& archive, W&& weights) {
    detail::check_weights<W, Elements>();
    guarded("load", [&](detail::engine& engine) {
      engine.require_unused("load");
      bind_weights(weights);
      detail::archive_reader<Archive> reader(archive);
      engine.load(reader);
    });
  }

  /// Collective. Combines a buffer that is not among the weights: a contiguous range of numbers, as long on all ranks.
  /// Takes memory for all ranks' buffers. Throws `configuration_error` for an average of integers, and `layout_error`
  /// on all ranks where they call it differently.
  template <class X>
  requires requires(X& x) { requires std::is_arithmetic_v<typename decltype(std::span(x))::value_type>; }
  void combine(X&& buffer, combination how) {
    guarded("combine", [&](detail::engine& engine) {
      engine.require_not_failed("combine");
      detail::combine(engine.ranks(), std::span(buffer), how);
    });
  }

  /// Collective. A hash of what has to be bitwise the same on all ranks: the weights without any prediction, and the
  /// rule's state; where ranks hold weights of their own, the number of steps, and what policies have in common, alone.
  /// Throws `communication_error`, on all ranks, where it is not the same.
  template <class W>
  std::uint64_t checksum(W&& weights) {
    detail::check_weights<W, Elements>();
    std::uint64_t sum = 0;
    guarded("checksum", [&](detail::engine& engine) {
      engine.require_between_steps("checksum");
      engine.receive_all();
      bind_to_read(weights, "weights");
      sum = engine.checksum();
    });
    return sum;
  }

  /// Collective. All ranks go on with rank 0's weights and rule's state, say after `checksum` has told that they have
  /// drifted apart. What is in flight stays so.
  template <class W>
  void resynchronise(W&& weights) {
    detail::check_weights<W, Elements>();
    guarded("resynchronise", [&](detail::engine& engine) {
      engine.prepare_to_resynchronise();
      bind_weights(weights);
      engine.resynchronise();
    });
  }

 protected:
  scheme_of() = default;
  scheme_of(scheme_of&&) = default;
  ~scheme_of() = default;

  template <class W>
  void bind_weights(W&& weights) {
    detail::check_weights<W, Elements>();
    detail::binding& model = engine("bind").model();
    detail::bind<true>(model, weights, model.all("weights"));
  }
  /// Weights are bound as gradients are, where they are only read: nobody holds gradients then.
  template <class X>
  void bind_to_read(X&& model, const char* what) {
    detail::binding& bound = engine("bind").model();
    detail::bind<false>(bound, model, bound.all(what));
    if (std::string_view(what) == "weights") bound.forget_gradients();
  }
};

}  // namespace syncopate
