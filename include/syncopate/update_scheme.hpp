#pragma once

#include <cstddef>
#include <memory>
#include <typeinfo>
#include <utility>

#include "concepts.hpp"
#include "detail/engine/engine.hpp"
#include "detail/engine/policies.hpp"
#include "detail/engine/schedule.hpp"
#include "detail/exchange/wire.hpp"
#include "detail/scheme_checks.hpp"
#include "scheme_of.hpp"
#include "scheme_options.hpp"
#include "tensor.hpp"

namespace syncopate {

/// Owns messages, histories and rules' states, and runs a composition of policies in one pass over memory. A rank's
/// thread makes one scheme and calls `step` once per mini-batch, with the gradient that it computed at the weights that
/// the scheme left in place: see `scheme_of` for that and the other calls, and `scheme_base` for those without tensors.
///
///     syncopate::update_scheme scheme{weights, communicator, syncopate::fixed_delay{1},
///                                     syncopate::gradient_averaging{syncopate::no_prediction{}, syncopate::sgd{}}};
///
/// `Elements` is the model's element type; C, D and A are its communicator, delay policy and averaging.
///
/// Collective, that is, called by all ranks in the same order: the constructor, `step`, and whatever says so. Ranks may
/// make different numbers of steps, see `join`. Nothing is allocated in `step`.
///
/// What goes wrong on one rank is an error on all of them. Where ranks called different things, or with other
/// hyper-parameters, or where the transport gives up, that is a `communication_error`, after which the scheme is of no
/// more use. A scheme that is destroyed while an exception passes by tells the other ranks, if its communicator can:
/// they get a `peer_failure`.
template <class Elements, class C, class D, class A>
class update_scheme : public scheme_of<Elements> {
  static_assert(detail::element_list<Elements>::template check<C, A>);
  static_assert(detail::check_delay<typename detail::element_list<Elements>::first, D, A>());

 public:
  /// Collective. Fixes the layout, makes every rank start from rank 0's weights, and allocates all memory. Throws, on
  /// every rank, `configuration_error` for senseless hyper-parameters or ranks with different policies,
  /// hyper-parameters or options, and `layout_error` for ranks with different tensors.
  template <class W>
  update_scheme(W&& weights, C communicator, D delay_policy, A averaging, const scheme_options& options = {})
      : update_scheme(std::make_unique<wire>(communicator.duplicate()),
                      std::make_unique<detail::schedules_of<D>>(std::move(delay_policy)),
                      std::make_unique<policies>(std::move(averaging)), options) {
    detail::check_weights<W, Elements>();
    detail::engine& engine = this->engine("update_scheme");
    engine.describe([&] {
      engine.validate();
      for_each_layer(weights, [&](auto& layer) {
        std::size_t tensors = 0;
        for_each_tensor(layer, [&](auto elements) {
          engine.model().describe({elements.size(), sizeof(*elements.data())});
          ++tensors;
        });
        engine.add_layer(tensors);
      });
      engine.lay_out();
      this->bind_weights(weights);
      engine.model().check();
    });
    engine.start(
        detail::hash_of(typeid(A).name(), detail::hash_of(typeid(D).name(), detail::hash_of(typeid(Elements).name()))));
  }

  /// A scheme that is destroyed waits for nobody: memory that a transport may still write to is kept until the process
  /// ends.
  update_scheme(update_scheme&&) = default;
  update_scheme& operator=(update_scheme&&) = delete;

  /// The update rule, whose hyper-parameters may be changed between steps, the same on all ranks at the same step:
  /// `scheme.rule().learning_rate = 0.01`.
  auto& rule() { return averaging().rule; }
  const auto& rule() const { return averaging().rule; }

  /// The averaging with all its policies, for the same purpose.
  A& averaging() {
    this->engine("averaging");
    return averaging_->averaging();
  }
  const A& averaging() const {
    this->engine("averaging");
    return std::as_const(*averaging_).averaging();
  }

  /// The channel of its own that the scheme sums on. Whoever calls something there does so on all ranks, between the
  /// same two calls of the scheme.
  C& communicator() { return wire_->communicator(); }
  const C& communicator() const { return wire_->communicator(); }

 private:
  using wire = typename detail::element_list<Elements>::template in<detail::wire_of, C>;
  using policies = typename detail::element_list<Elements>::template in<detail::policies_of, A>;

  update_scheme(std::unique_ptr<wire> on, std::unique_ptr<detail::schedules> when, std::unique_ptr<policies> averaging,
                const scheme_options& options)
      : wire_(on.get()), averaging_(averaging.get()) {
    this->runs_on(std::make_unique<detail::engine>(std::move(on), std::move(when), std::move(averaging), options));
  }

  wire* wire_;           ///< the engine owns it
  policies* averaging_;  ///< and this
};

template <class W, class C, class D, class A>
update_scheme(W&&, C, D, A) -> update_scheme<typename detail::elements_if_model<W>::type, C, D, A>;
template <class W, class C, class D, class A>
update_scheme(W&&, C, D, A, const scheme_options&)
    -> update_scheme<typename detail::elements_if_model<W>::type, C, D, A>;

}  // namespace syncopate
