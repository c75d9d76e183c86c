#pragma once

#include <concepts>
#include <cstdint>
#include <utility>

#include "averaging/gradient_averaging.hpp"
#include "averaging/local_rule_averaging.hpp"
#include "averaging/lookahead_averaging.hpp"
#include "averaging/sharded_averaging.hpp"
#include "averaging/weight_averaging.hpp"
#include "delays/fixed_delay.hpp"
#include "delays/lazy_delay.hpp"
#include "delays/periodic_delay.hpp"
#include "delays/warm_up.hpp"
#include "merges/blend.hpp"
#include "merges/replace.hpp"
#include "predictors/adaptive_exponential_smoothing.hpp"
#include "predictors/local_gradient.hpp"
#include "predictors/no_prediction.hpp"
#include "scheme_options.hpp"
#include "update_scheme.hpp"

/// Schemes by the names under which they were published. Each is a composition of the parts that `update_scheme` takes,
/// and nothing more. All are collective; see the constructor of `update_scheme`.
namespace syncopate {

/// Synchronous SGD, the baseline: every step waits for the mean gradient.
template <class W, class C, class Rule>
auto synchronous_sgd(W&& weights, C communicator, Rule rule, const scheme_options& options = {}) {
  return update_scheme{weights, std::move(communicator), fixed_delay{0}, gradient_averaging{no_prediction{}, rule},
                       options};
}

/// Synchronous SGD whose update ranks share: each keeps the rule's state of its own part of the model, and hands out
/// the weights that it has updated (Lee et al., MLHPC 2018). For use layer by layer; see `sharded_averaging`.
template <class W, class C, class Rule>
auto sharded_sgd(W&& weights, C communicator, Rule rule, const scheme_options& options = {}) {
  return update_scheme{weights, std::move(communicator), fixed_delay{0},
                       sharded_averaging{gradient_averaging{no_prediction{}, rule}}, options};
}

/// Lazy averaging (Lee et al., J. Parallel and Distributed Computing 159, 2022): gradients are added up for some steps
/// before ranks average them, for the more steps the better they agree; see `lazy_delay`. With `periodic_delay` in its
/// place it is gradient accumulation.
template <class W, class C, class Rule>
auto lazy_sgd(W&& weights, C communicator, Rule rule, lazy_delay delay = {}, const scheme_options& options = {}) {
  return update_scheme{weights, std::move(communicator), delay, gradient_averaging{no_prediction{}, rule}, options};
}

/// Pseudo-synchronous SGD (Wen et al., Int. J. Parallel Programming 2024): each step applies the mean gradient of
/// `delay` steps ago while the newest one is summed, after a predictor has corrected it. Without prediction it is
/// Pipe-SGD. It commits late gradients, which bounds the learning rate: with momentum β and delay 1 a quadratic is
/// stable below (1 − β) / curvature only (derived by this project); see `lookahead_sgd`.
template <class W, class C, class Rule, class Predictor = adaptive_exponential_smoothing<>>
auto pseudo_synchronous_sgd(W&& weights, C communicator, Rule rule, Predictor predictor = {}, std::int64_t delay = 1,
                            const scheme_options& options = {}) {
  return update_scheme{weights, std::move(communicator), fixed_delay{delay}, gradient_averaging{predictor, rule},
                       options};
}

/// The same schedule, but no guess is ever committed: gradients are computed at a prediction of the weights, and only
/// means that have arrived change the weights themselves. This project's correction of the pseudo-synchronous scheme.
///
/// On a quadratic with x = learning rate · curvature the mean over ranks is stable up to synchronous SGD's own limit,
/// 2(1 + β) with momentum β. What ranks disagree about, with the local gradient as the predictor, is stable up to x < 1
/// at delay 1 and x < 1 / (1 + β) at delay 2, less at longer ones (derived by this project, and tested).
template <class W, class C, class Rule, class Predictor = local_gradient>
auto lookahead_sgd(W&& weights, C communicator, Rule rule, Predictor predictor = {}, std::int64_t delay = 1,
                   const scheme_options& options = {}) {
  return update_scheme{weights, std::move(communicator), fixed_delay{delay}, lookahead_averaging{predictor, rule},
                       options};
}

/// Steps that OD-SGD's authors train synchronously before they delay.
inline constexpr std::int64_t od_sgd_warm_up_steps = 200;

/// OD-SGD (Xu et al., ACM TACO 2020): the mean gradient arrives one step late; meanwhile each rank moves on by its own
/// gradient. The local step is the rule's own, momentum included, so that the mean of the ranks' weights is exactly
/// where the true weights go next (this project's choice; the overload below has the authors').
template <class W, class C, class Rule>
auto od_sgd(W&& weights, C communicator, Rule rule, std::int64_t warm_up_steps = od_sgd_warm_up_steps,
            const scheme_options& options = {}) {
  return update_scheme{weights, std::move(communicator), warm_up{warm_up_steps, fixed_delay{1}},
                       lookahead_averaging{local_gradient{}, rule}, options};
}

/// OD-SGD as in the authors' code: the local step has a rule, hyper-parameters and state of its own, for example
/// `sgd{.learning_rate = 0.1, .momentum = 0.1}`.
template <class W, class C, class Rule, class LocalRule>
requires(!std::convertible_to<LocalRule, std::int64_t>) auto od_sgd(W&& weights, C communicator, Rule rule,
                                                                    LocalRule local_rule,
                                                                    std::int64_t warm_up_steps = od_sgd_warm_up_steps,
                                                                    const scheme_options& options = {}) {
  return update_scheme{weights, std::move(communicator), warm_up{warm_up_steps, fixed_delay{1}},
                       local_rule_averaging{local_gradient{}, rule, local_rule}, options};
}

/// DaSGD (Zhou et al., arXiv 2006.00441): each rank trains on its own; after every period a snapshot of the weights is
/// averaged, and `delay` steps later w ← ξ w + (1 − ξ) mean, with ξ = `own_share`.
template <class W, class C, class Rule>
auto dasgd(W&& weights, C communicator, Rule rule, periodic_delay delay = {}, double own_share = 0.25,
           const scheme_options& options = {}) {
  return update_scheme{weights, std::move(communicator), delay, weight_averaging{blend{own_share}, rule}, options};
}

/// Local SGD: each rank trains on its own, and every `period` steps all wait for the mean of the weights.
template <class W, class C, class Rule>
auto local_sgd(W&& weights, C communicator, Rule rule, std::int64_t period = 4, const scheme_options& options = {}) {
  return update_scheme{weights, std::move(communicator), periodic_delay{.period = period, .delay = 0},
                       weight_averaging{replace{}, rule}, options};
}

}  // namespace syncopate
