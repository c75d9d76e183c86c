#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

namespace fashion_mnist {

/// What the command line knows of a scheme.
struct scheme_description {
  std::string_view name;
  std::string_view summary;
  bool has_delay = false, has_period = false;
  bool by_layer = false;  ///< whether gradients leave, and weights are waited for, layer by layer
  bool averages_weights = false;
  /// The predictors it can be used with, its default first; empty if it has none.
  std::span<const std::string_view> predictors{};
};

inline constexpr std::array<std::string_view, 5> committed_predictors = {
    "linear-extrapolation", "no-prediction", "exponential-smoothing", "adaptive-exponential-smoothing",
    "delay-compensation"};

/// Those that use the rank's own gradient make sense only where the guess is not committed.
inline constexpr std::array<std::string_view, 7> lookahead_predictors = {"local-gradient",
                                                                         "blended-gradient",
                                                                         "no-prediction",
                                                                         "exponential-smoothing",
                                                                         "adaptive-exponential-smoothing",
                                                                         "linear-extrapolation",
                                                                         "delay-compensation"};

/// Steps during which OD-SGD is synchronous. The authors' 200 would be a fifth of a short run.
inline constexpr std::int64_t od_sgd_warm_up_steps = 20;
/// What a rank keeps of its own weights when DaSGD's mean arrives.
inline constexpr double dasgd_own_share = 0.25;
inline constexpr std::int64_t default_delay = 1, default_period = 4;

/// All schemes, in the order in which `--scheme all` runs them.
inline constexpr std::array<scheme_description, 10> schemes = {{
    {.name = "synchronous", .summary = "mean gradient of this step; nothing is hidden"},
    {.name = "layerwise",
     .summary = "synchronous, layer by layer: gradients travel during the rest of backward",
     .by_layer = true},
    {.name = "sharded",
     .summary = "layer by layer, and ranks share the update: gradients travel under backward, weights under forward",
     .by_layer = true},
    {.name = "factors",
     .summary = "sharded; of fully connected layers activations and errors travel where that is less",
     .by_layer = true},
    {.name = "lazy",
     .summary = "layer by layer; adds gradients up for as many steps as they agree, at most a period",
     .has_period = true,
     .by_layer = true},
    {.name = "pseudo-synchronous",
     .summary = "commits the mean gradient of an earlier step",
     .has_delay = true,
     .predictors = committed_predictors},
    {.name = "lookahead",
     .summary = "computes at weights predicted for when the mean gradient lands",
     .has_delay = true,
     .predictors = lookahead_predictors},
    {.name = "od-sgd", .summary = "look-ahead by the local gradient, after a synchronous warm-up of 20 steps"},
    {.name = "dasgd",
     .summary = "averages weights every period, a delay late",
     .has_delay = true,
     .has_period = true,
     .averages_weights = true},
    {.name = "local-sgd",
     .summary = "averages weights every period, at once",
     .has_period = true,
     .averages_weights = true},
}};

/// The scheme of this name, or null.
constexpr const scheme_description* find_scheme(std::string_view name) {
  for (const auto& scheme : schemes)
    if (scheme.name == name) return &scheme;
  return nullptr;
}

}  // namespace fashion_mnist
