#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "training_data.hpp"

/// The recurrences of the schemes once more, as plain loops in extended precision that share nothing with the library.
/// Rules and predictors keep their own state; a copy of one is a copy of that state.
namespace reference {

using real = long double;
using vector = std::vector<real>;

using update_rule = std::function<void(vector& weights, const vector& gradient)>;
/// Given the arrived mean, the own contribution, the weights that the gradient is wanted for, and those of the mean.
using gradient_predictor = std::function<vector(const vector&, const vector&, const vector&, const vector&)>;

// Update rules.

struct sgd {
  real learning_rate, momentum = 0, dampening = 0, weight_decay = 0;
  bool nesterov = false;
  vector velocity = {};

  void operator()(vector& w, const vector& gradient) {
    const bool first = velocity.empty();
    velocity.resize(w.size());
    for (std::size_t i = 0; i < w.size(); ++i) {
      const real g = gradient[i] + weight_decay * w[i];
      velocity[i] = first || momentum == 0 ? g : momentum * velocity[i] + (1 - dampening) * g;
      w[i] -= learning_rate * (nesterov ? g + momentum * velocity[i] : velocity[i]);
    }
  }
};

struct adamw {
  real learning_rate, beta1, beta2, epsilon, weight_decay;
  int t = 0;
  vector first = {}, second = {};

  void operator()(vector& w, const vector& g) {
    first.resize(w.size());
    second.resize(w.size());
    ++t;
    const real first_share = 1 - std::pow(beta1, t), second_share = 1 - std::pow(beta2, t);
    for (std::size_t i = 0; i < w.size(); ++i) {
      w[i] -= learning_rate * weight_decay * w[i];
      first[i] = beta1 * first[i] + (1 - beta1) * g[i];
      second[i] = beta2 * second[i] + (1 - beta2) * g[i] * g[i];
      w[i] -= learning_rate * (first[i] / first_share) / (std::sqrt(second[i] / second_share) + epsilon);
    }
  }
};

// Predictors.

struct no_prediction {
  vector operator()(const vector& m, const vector&, const vector&, const vector&) { return m; }
};

struct exponential_smoothing {
  real a;
  vector s = {};

  vector operator()(const vector& m, const vector&, const vector&, const vector&) {
    if (s.empty()) return s = m;
    for (std::size_t i = 0; i < m.size(); ++i) s[i] = a * m[i] + (1 - a) * s[i];
    return s;
  }
};

inline real norm(const vector& x) {
  real sum = 0;
  for (const real e : x) sum += e * e;
  return std::sqrt(sum);
}

struct tracking_signal {
  real phi, lowest;
  vector s = {}, signal = {};
  real deviation = 0;

  vector operator()(const vector& m, const vector&, const vector&, const vector&) {
    const bool first = s.empty();
    s.resize(m.size());
    signal.resize(m.size());
    vector e(m.size());
    for (std::size_t i = 0; i < m.size(); ++i) {
      e[i] = m[i] - s[i];
      signal[i] = phi * e[i] + (1 - phi) * signal[i];
    }
    deviation = phi * norm(e) + (1 - phi) * deviation;
    const real a = first || deviation == 0 ? 1 : std::clamp<real>(norm(signal) / deviation, lowest, 1);
    for (std::size_t i = 0; i < m.size(); ++i) s[i] += a * e[i];
    return s;
  }
};

struct cosine_gate {
  real c;
  vector s = {};

  vector operator()(const vector& m, const vector&, const vector&, const vector&) {
    if (s.empty()) return s = m;
    real dot = 0;
    for (std::size_t i = 0; i < m.size(); ++i) dot += m[i] * s[i];
    const real lengths = norm(m) * norm(s);
    const real a = lengths == 0 ? 1 : 1 - c * std::max<real>(0, dot / lengths);
    for (std::size_t i = 0; i < m.size(); ++i) s[i] += a * (m[i] - s[i]);
    return s;
  }
};

struct linear_extrapolation {
  real h;
  vector previous = {};

  vector operator()(const vector& m, const vector&, const vector&, const vector&) {
    vector g = m;
    for (std::size_t i = 0; i < previous.size(); ++i) g[i] += h * (m[i] - previous[i]);
    previous = m;
    return g;
  }
};

struct delay_compensation {
  real lambda;

  vector operator()(const vector& m, const vector&, const vector& now, const vector& then) {
    vector g = m;
    for (std::size_t i = 0; i < m.size(); ++i) g[i] += lambda * m[i] * m[i] * (now[i] - then[i]);
    return g;
  }
};

struct local_gradient {
  vector operator()(const vector&, const vector& own, const vector&, const vector&) { return own; }
};

struct blended_gradient {
  real a;

  vector operator()(const vector& m, const vector& own, const vector&, const vector&) {
    vector g = m;
    for (std::size_t i = 0; i < m.size(); ++i) g[i] = a * own[i] + (1 - a) * m[i];
    return g;
  }
};

// What a run is made of.

/// The elements that share an adaptive gain; each scheme below runs on one such group after the other.
using range = std::pair<std::size_t, std::size_t>;

inline vector slice(const std::vector<double>& values, const range& group) {
  return {values.begin() + static_cast<std::ptrdiff_t>(group.first),
          values.begin() + static_cast<std::ptrdiff_t>(group.second)};
}

inline vector own(const support::training_data& data, int rank, int step, const range& group) {
  return slice(data.gradients[static_cast<std::size_t>(rank)][static_cast<std::size_t>(step)], group);
}

/// Mean over ranks of some vectors, weighted by samples.
inline vector mean(const support::training_data& data, const std::vector<vector>& of_ranks) {
  vector result(of_ranks[0].size());
  for (std::size_t rank = 0; rank < of_ranks.size(); ++rank)
    for (std::size_t i = 0; i < result.size(); ++i) result[i] += data.samples[rank] * of_ranks[rank][i];
  for (real& x : result) x /= data.total_samples();
  return result;
}

inline vector mean(const support::training_data& data, int step, const range& group) {
  std::vector<vector> all;
  for (int rank = 0; rank < data.ranks(); ++rank) all.push_back(own(data, rank, step, group));
  return mean(data, all);
}

/// Weights after each step and after the end, on each rank: the layout of `support::trajectory`.
class trajectories {
 public:
  explicit trajectories(const support::training_data& data)
      : elements_(data.start.size()),
        of_ranks_(data.samples.size(), vector(elements_ * static_cast<std::size_t>(data.steps() + 1))) {}

  void note(int rank, int step, const range& group, const vector& w) {
    std::copy(w.begin(), w.end(),
              of_ranks_[static_cast<std::size_t>(rank)].begin() +
                  static_cast<std::ptrdiff_t>(static_cast<std::size_t>(step) * elements_ + group.first));
  }
  const vector& operator[](std::size_t rank) const { return of_ranks_[rank]; }

 private:
  std::size_t elements_;
  std::vector<vector> of_ranks_;
};

/// When means arrive: at `step`, those up to this number have.
struct schedule {
  int delay, warm_up = 0;

  int arrived(int step) const { return std::max(step - delay, std::min(step, warm_up - 1)); }
};

/// Averaged gradients, committed: sections 1 and 2 of the recurrences.
inline trajectories committed(const support::training_data& data, schedule when,
                              const gradient_predictor& predictor_at_start, const update_rule& rule_at_start,
                              std::size_t group_length = SIZE_MAX) {
  trajectories noted(data);
  for (const range& group : data.groups(group_length)) {
    gradient_predictor predict = predictor_at_start;
    update_rule rule = rule_at_start;
    vector w = slice(data.start, group);
    std::vector<vector> then;
    int next = 0;
    for (int step = 0; step <= data.steps(); ++step) {
      const bool end = step == data.steps();
      if (!end) then.push_back(w);
      for (; next <= (end ? step - 1 : when.arrived(step)); ++next) {
        const vector m = mean(data, next, group);
        const vector guess = predict(m, {}, w, then[static_cast<std::size_t>(next)]);
        rule(w, next == step ? m : guess);
      }
      for (int rank = 0; rank < data.ranks(); ++rank) noted.note(rank, step, group, w);
    }
  }
  return noted;
}

/// Look-ahead: section 3.
inline trajectories lookahead(const support::training_data& data, schedule when,
                              const gradient_predictor& predictor_at_start, const update_rule& rule_at_start,
                              std::size_t group_length = SIZE_MAX) {
  trajectories noted(data);
  for (const range& group : data.groups(group_length))
    for (int rank = 0; rank < data.ranks(); ++rank) {
      gradient_predictor history = predictor_at_start;  // before the newest mean
      update_rule rule = rule_at_start;
      vector w = slice(data.start, group), user = w, m(w.size());
      std::vector<vector> then;
      int next = 0;
      for (int step = 0; step < data.steps(); ++step) {
        then.push_back(user);
        for (; next <= when.arrived(step); ++next) {
          if (next > 0) history(m, m, w, w);
          m = mean(data, next, group);
          rule(w, m);
        }
        user = w;
        update_rule ahead = rule;
        for (int k = next; k <= step; ++k) {
          const vector& wanted = then[static_cast<std::size_t>(k)];
          gradient_predictor predict = history;
          ahead(user, predict(m, own(data, rank, k, group), wanted,
                              next > 0 ? then[static_cast<std::size_t>(next - 1)] : wanted));
        }
        noted.note(rank, step, group, user);
      }
      for (; next < data.steps(); ++next) rule(w, mean(data, next, group));
      noted.note(rank, data.steps(), group, w);
    }
  return noted;
}

/// OD-SGD with the authors' separate local rule: section 4.
inline trajectories local_rule(const support::training_data& data, int warm_up, const update_rule& rule_at_start,
                               const update_rule& local_rule_at_start) {
  trajectories noted(data);
  for (const range& group : data.groups())
    for (int rank = 0; rank < data.ranks(); ++rank) {
      update_rule rule = rule_at_start;
      update_rule local = local_rule_at_start;
      vector w = slice(data.start, group);
      for (int step = 0; step < data.steps(); ++step) {
        if (step > warm_up) rule(w, mean(data, step - 1, group));
        if (step < warm_up) rule(w, mean(data, step, group));
        vector user = w;
        if (step >= warm_up) local(user, own(data, rank, step, group));
        noted.note(rank, step, group, user);
      }
      if (data.steps() > warm_up) rule(w, mean(data, data.steps() - 1, group));
      noted.note(rank, data.steps(), group, w);
    }
  return noted;
}

/// Averaged weights: section 5, with the two-parameter merge. A snapshot is taken after what is due has been merged.
inline trajectories averaged_weights(const support::training_data& data, int period, int delay, real theta, real xi,
                                     const update_rule& rule_at_start) {
  trajectories noted(data);
  for (const range& group : data.groups()) {
    const auto ranks = data.samples.size();
    std::vector<update_rule> rules(ranks, rule_at_start);
    std::vector<vector> w(ranks, slice(data.start, group)), snapshot;
    vector a;
    int launched = -1;
    const auto merge = [&](real keeps_progress, real keeps_distance) {
      for (std::size_t rank = 0; rank < ranks; ++rank)
        for (std::size_t i = 0; i < a.size(); ++i)
          w[rank][i] =
              a[i] + keeps_progress * (w[rank][i] - snapshot[rank][i]) + keeps_distance * (snapshot[rank][i] - a[i]);
      launched = -1;
    };
    for (int step = 0; step < data.steps(); ++step) {
      for (std::size_t rank = 0; rank < ranks; ++rank)
        rules[rank](w[rank], own(data, static_cast<int>(rank), step, group));
      if (launched >= 0 && step - launched == delay) merge(theta, xi);
      if (step % period == period - 1) {
        snapshot = w;
        a = mean(data, w);
        launched = step;
        if (delay == 0) merge(0, 0);
      }
      for (std::size_t rank = 0; rank < ranks; ++rank) noted.note(static_cast<int>(rank), step, group, w[rank]);
    }
    if (launched >= 0) merge(theta, xi);
    vector consensus(a.size());
    consensus.resize(w[0].size());
    for (const vector& one : w)
      for (std::size_t i = 0; i < consensus.size(); ++i) consensus[i] += one[i] / static_cast<real>(ranks);
    for (std::size_t rank = 0; rank < ranks; ++rank) noted.note(static_cast<int>(rank), data.steps(), group, consensus);
  }
  return noted;
}

}  // namespace reference
