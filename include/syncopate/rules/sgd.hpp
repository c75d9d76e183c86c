#pragma once

#include <cstddef>
#include <cstdint>
#include <variant>

#include "../concepts.hpp"
#include "../detail/validate.hpp"

namespace syncopate {

/// Stochastic gradient descent with momentum, as torch.optim.SGD defines it:
///
///     g ← g + weight_decay · w
///     v ← g at the first update, else momentum · v + (1 − dampening) · g
///     w ← w − learning_rate · (nesterov ? g + momentum · v : v)
///
/// Without dampening it is bitwise that recurrence. With dampening the two differ by rounding, since it is
/// written as g − dampening · g. Without momentum, dampening has no effect, as in PyTorch.
///
/// The velocity does not contain the learning rate: a learning rate that changes between updates acts at once on the
/// whole step.
struct sgd {
  double learning_rate = 0.1;
  double momentum = 0;
  double dampening = 0;
  double weight_decay = 0;
  bool nesterov = false;

  static constexpr std::size_t state_vectors = 1;

  /// What is prepared where there is neither dampening nor weight decay nor Nesterov's step: a heavy ball, whose loop
  /// is as short as one written for it.
  struct heavy_ball {};

  /// For everything else. The step is direct + carried · v: g + momentum · v for Nesterov, else 0 + 1 · v. Both `fresh`
  /// and `direct` are written as x − factor · x, exact for the factors 0 and 1: a branch-free form with one product per
  /// addition.
  struct general {
    double dampening, withheld, carried;
  };

  constexpr std::variant<heavy_ball, general> prepare(std::int64_t count) const {
    const bool dampens = momentum != 0 && dampening != 0;
    if (!dampens && weight_decay == 0 && !nesterov) return heavy_ball{};
    return general{.dampening = dampens && count > 0 ? dampening : 0.0,
                   .withheld = nesterov ? 0.0 : 1.0,
                   .carried = nesterov ? momentum : 1.0};
  }

  template <class T>
  constexpr void apply(T& weight, T gradient, T& velocity, const heavy_ball&) const {
    velocity = gradient + T(momentum) * velocity;
    weight -= T(learning_rate) * velocity;
  }

  template <class T>
  constexpr void apply(T& weight, T gradient, T& velocity, const general& c) const {
    const T decayed = gradient + T(weight_decay) * weight;
    const T fresh = decayed - T(c.dampening) * decayed;
    velocity = fresh + T(momentum) * velocity;
    const T direct = decayed - T(c.withheld) * decayed;
    const T step = direct + T(c.carried) * velocity;
    weight -= T(learning_rate) * step;
  }

  /// Throws `configuration_error` unless learning rate and weight decay are finite and not negative, 0 ≤ momentum < 1,
  /// 0 ≤ dampening ≤ 1, and Nesterov comes with momentum and without dampening.
  void validate() const {
    detail::require_at_least(learning_rate, 0, "sgd.learning_rate");
    detail::require_below(momentum, 0, 1, "sgd.momentum");
    detail::require_between(dampening, 0, 1, "sgd.dampening");
    detail::require_at_least(weight_decay, 0, "sgd.weight_decay");
    if (nesterov && !(momentum > 0 && dampening == 0))
      throw configuration_error("syncopate: sgd.nesterov requires momentum above 0 and no dampening, but they are " +
                                detail::text(momentum) + " and " + detail::text(dampening));
  }
};

}  // namespace syncopate
