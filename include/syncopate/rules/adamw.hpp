#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>

#include "../concepts.hpp"
#include "../detail/elements/math.hpp"
#include "../detail/validate.hpp"

namespace syncopate {

/// Adam with decoupled weight decay [Loshchilov & Hutter 2019], as torch.optim.AdamW defines it. At update t = 1, 2, …:
///
///     w ← w − learning_rate · weight_decay · w
///     m ← m + (1 − beta1) (g − m)
///     v ← v + (1 − beta2) (g² − v)
///     w ← w − learning_rate · m̂ / (√v̂ + epsilon),  m̂ = m / (1 − beta1ᵗ),  v̂ = v / (1 − beta2ᵗ)
///
/// The bias corrections are moved into the two scalars of the last line, so that a parameter costs one division:
/// m̂ / (√v̂ + ε) = m r / (1 − beta1ᵗ) / (√v + ε r), with r = √(1 − beta2ᵗ).
struct adamw {
  double learning_rate = 1e-3;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double weight_decay = 1e-2;

  static constexpr std::size_t state_vectors = 2;

  struct coefficients {
    double decay, first_gain, second_gain, step, epsilon;
  };

  coefficients prepare(std::int64_t count) const {
    const double t = static_cast<double>(count) + 1;
    const double root = std::sqrt(1 - std::pow(beta2, t));
    return {.decay = learning_rate * weight_decay,
            .first_gain = 1 - beta1,
            .second_gain = 1 - beta2,
            .step = learning_rate * root / (1 - std::pow(beta1, t)),
            .epsilon = epsilon * root};
  }

  template <class T>
  void apply(T& weight, T gradient, T& first, T& second, const coefficients& c) const {
    first += T(c.first_gain) * (gradient - first);
    second += T(c.second_gain) * (gradient * gradient - second);
    const T decayed = weight - T(c.decay) * weight;
    weight = decayed - T(c.step) * (first / (detail::square_root(second) + T(c.epsilon)));
  }

  /// Throws `configuration_error` unless learning rate and weight decay are finite and not negative, both betas are in
  /// [0, 1), and epsilon is above 0 (a parameter that never had a gradient would become 0 / 0).
  void validate() const {
    detail::require_at_least(learning_rate, 0, "adamw.learning_rate");
    detail::require_below(beta1, 0, 1, "adamw.beta1");
    detail::require_below(beta2, 0, 1, "adamw.beta2");
    detail::require_above(epsilon, 0, "adamw.epsilon");
    detail::require_at_least(weight_decay, 0, "adamw.weight_decay");
  }
};

}  // namespace syncopate
