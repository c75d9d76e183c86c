#pragma once

/// The engine and all policies. It leaves out what needs another library, and what takes long to compile:
///
/// - `syncopate/communicators/boost_mpi.hpp` (Boost.MPI)
/// - `syncopate/communicators/thread_team.hpp` (ranks as threads: the standard library's)
/// - `syncopate/adaptors/xtensor.hpp` (xtensor), `syncopate/adaptors/eigen.hpp` (Eigen)
/// - `syncopate/checkpoint.hpp` (files of schemes: the standard library's)
/// - `syncopate/benchmark.hpp` (Google Benchmark)

#include "averaging/gradient_averaging.hpp"
#include "averaging/local_rule_averaging.hpp"
#include "averaging/lookahead_averaging.hpp"
#include "averaging/sharded_averaging.hpp"
#include "averaging/weight_averaging.hpp"
#include "batch_growth/batch_growth.hpp"
#include "batch_growth/gradient_noise_scale.hpp"
#include "batch_growth/loss_plateau.hpp"
#include "batch_growth/milestones.hpp"
#include "combination.hpp"
#include "communicators/loopback.hpp"
#include "concepts.hpp"
#include "delays/fixed_delay.hpp"
#include "delays/lazy_delay.hpp"
#include "delays/periodic_delay.hpp"
#include "delays/warm_up.hpp"
#include "error.hpp"
#include "memory_report.hpp"
#include "merges/blend.hpp"
#include "merges/replace.hpp"
#include "merges/two_parameter_merge.hpp"
#include "predictors/adaptive_exponential_smoothing.hpp"
#include "predictors/blended_gradient.hpp"
#include "predictors/delay_compensation.hpp"
#include "predictors/exponential_smoothing.hpp"
#include "predictors/gain_laws/cosine_gate.hpp"
#include "predictors/gain_laws/fixed_gain.hpp"
#include "predictors/gain_laws/tracking_signal.hpp"
#include "predictors/linear_extrapolation.hpp"
#include "predictors/local_gradient.hpp"
#include "predictors/no_prediction.hpp"
#include "rules/adamw.hpp"
#include "rules/sgd.hpp"
#include "scheme_options.hpp"
#include "schemes.hpp"
#include "statistics.hpp"
#include "tensor.hpp"
#include "training_signal.hpp"
#include "update_scheme.hpp"
#include "version.hpp"
