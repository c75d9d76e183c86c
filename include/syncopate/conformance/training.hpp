#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <istream>
#include <numeric>
#include <ostream>
#include <sstream>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "../checkpoint.hpp"
#include "../communicators/thread_team.hpp"
#include "../scheme_options.hpp"
#include "../tensor.hpp"
#include "../update_scheme.hpp"

/// Trains a scheme in the ways that the laws compare.
namespace syncopate::detail::conformance {

/// One training, on threads. Its gradients do not depend on its weights, so that rounding errors do not feed back.
struct trial {
  int ranks = 2;
  std::int64_t delay = 0;
  std::int64_t steps = 12;
  std::size_t bucket_bytes = default_bucket_bytes;
  std::vector<std::size_t> sizes{1, 15, 16, 17, 513};  ///< of the tensors: around the lengths of the engine's loops
  bool shuffled = false;                               ///< parameters lie in another order
  bool equal_ranks = false;                            ///< all ranks have the data of rank 0, and as many samples
  bool zero_gradients = false;
  bool keeps_gradients = false;  ///< gradients stay as they are after the step; else they are overwritten
  bool in_turns = false;         ///< takes turns with a training of other data
  std::int64_t saved_after = 0;  ///< so many steps it is saved, and goes on in new threads; 0: it is not

  std::size_t parameters() const { return std::accumulate(sizes.begin(), sizes.end(), std::size_t{0}); }

  /// The parameter at a place of the model.
  std::size_t parameter_at(std::size_t place) const { return shuffled ? (place * 241 + 17) % parameters() : place; }

  std::string text() const {
    return "at delay " + std::to_string(delay) + " on " + std::to_string(ranks) + (ranks == 1 ? " rank" : " ranks");
  }
};

/// What came of a trial. Parameters are in the order of their numbers.
struct trial_result {
  bool of_floats = false;
  std::size_t parameters = 0;
  std::vector<std::vector<double>> weights;      ///< of each rank: after each step, then after `finish`
  std::vector<std::vector<double>> consensus;    ///< likewise
  std::vector<std::int64_t> launched, absorbed;  ///< on each rank
  std::string failure;                           ///< what was thrown, if something was
};

/// In [−1, 1), with 20 bits, so that floats hold it; depends on the arguments and on nothing else.
inline double number(std::uint64_t a, std::uint64_t b, std::uint64_t c) {
  std::uint64_t x = (a + 1) * 0x9e3779b97f4a7c15u ^ (b + 1) * 0xbf58476d1ce4e5b9u ^ (c + 1) * 0x94d049bb133111ebu;
  for (int round = 0; round < 2; ++round) {
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x ^= x >> 27;
  }
  return static_cast<double>(x >> 44) / (1 << 19) - 1;
}

template <class T>
using trial_model = std::vector<std::vector<T>>;

/// Calls `visit(element, number of the parameter)`.
template <class T, class Visitor>
void for_each_parameter(const trial& t, trial_model<T>& model, Visitor visit) {
  std::size_t place = 0;
  for (auto& tensor : model)
    for (T& element : tensor) visit(element, t.parameter_at(place++));
}

/// One rank's part of a trial.
template <class T, class D, class A>
class trainee {
 public:
  trainee(const trial& t, thread_communicator communicator, const D& delay, const A& averaging, std::uint64_t data)
      : trial_(t),
        data_(data + (t.equal_ranks ? 0 : static_cast<std::uint64_t>(communicator.rank()))),
        samples_(t.equal_ranks ? 1 : communicator.rank() + 1),
        weights_(make_model(t)),
        consensus_(make_model(t)),
        scheme_(start(), std::move(communicator), delay, averaging, scheme_options{.bucket_bytes = t.bucket_bytes}) {}

  void step(std::int64_t number_of_step) {
    if (gradients_.empty() || trial_.keeps_gradients) gradients_.push_back(make_model(trial_));
    auto& gradient = gradients_.back();
    for_each_parameter(trial_, gradient, [&](T& g, std::size_t i) {
      g = trial_.zero_gradients ? T(0) : T(number(data_, static_cast<std::uint64_t>(number_of_step), i));
    });
    scheme_.step(weights_, gradient, samples_);
    if (!trial_.keeps_gradients) for_each_parameter(trial_, gradient, [](T& g, std::size_t) { g = T(1000); });
    scheme_.consensus(weights_, consensus_);
  }

  void finish() {
    scheme_.finish(weights_);
    consensus_ = weights_;
  }

  void save(std::ostream& stream) {
    checkpoint_writer archive(stream);
    scheme_.save(archive, weights_);
    archive.finish();
  }

  void load(std::istream& stream) {
    checkpoint_reader archive(stream);
    scheme_.load(archive, weights_);
  }

  /// Adds what the weights are now.
  void note(trial_result& result) {
    const auto rank = static_cast<std::size_t>(scheme_.rank());
    append(result.weights[rank], weights_);
    append(result.consensus[rank], consensus_);
    result.launched[rank] = scheme_.statistics().launched;
    result.absorbed[rank] = scheme_.statistics().absorbed;
  }

 private:
  static trial_model<T> make_model(const trial& t) {
    trial_model<T> model;
    for (const std::size_t size : t.sizes) model.emplace_back(size);
    return model;
  }

  /// The weights to start from; every third is zero.
  trial_model<T>& start() {
    for_each_parameter(trial_, weights_, [](T& w, std::size_t i) { w = i % 3 == 0 ? T(0) : T(number(7, 7, i)); });
    return weights_;
  }

  void append(std::vector<double>& to, trial_model<T>& model) const {
    const std::size_t before = to.size();
    to.resize(before + trial_.parameters());
    for_each_parameter(trial_, model, [&](T& element, std::size_t i) { to[before + i] = element; });
  }

  const trial& trial_;
  std::uint64_t data_;
  double samples_;
  trial_model<T> weights_, consensus_;
  std::vector<trial_model<T>> gradients_;
  update_scheme<T, thread_communicator, D, A> scheme_;
};

/// What was thrown, as text. To be called where it was caught.
inline std::string text_of_exception() {
  try {
    throw;
  } catch (const std::exception& exception) {
    return exception.what();
  } catch (...) {
    return "something that is no std::exception";
  }
}

template <class T, class D, class A>
trial_result train(const trial& t, const D& delay, const A& averaging) {
  const auto ranks = static_cast<std::size_t>(t.ranks);
  trial_result result{std::is_same_v<T, float>, t.parameters(), {}, {}, {}, {}, {}};
  result.weights.resize(ranks);
  result.consensus.resize(ranks);
  result.launched.resize(ranks);
  result.absorbed.resize(ranks);
  std::vector<std::stringstream> saved(t.saved_after > 0 ? ranks : 0);
  const auto run = [&](std::int64_t begin, std::int64_t end) {
    thread_team{t.ranks}.run([&](thread_communicator communicator) {
      const auto rank = static_cast<std::size_t>(communicator.rank());
      trainee<T, D, A> noted(t, communicator, delay, averaging, 0);
      std::vector<trainee<T, D, A>> others;
      others.reserve(1);
      if (t.in_turns) others.emplace_back(t, communicator, delay, averaging, 1000);
      if (begin > 0) noted.load(saved[rank]);
      for (std::int64_t step = begin; step < end; ++step) {
        noted.step(step);
        for (auto& other : others) other.step(step);
        noted.note(result);
      }
      if (end < t.steps) {
        noted.save(saved[rank]);
        return;
      }
      noted.finish();
      for (auto& other : others) other.finish();
      noted.note(result);
    });
  };
  try {
    if (t.saved_after > 0) run(0, t.saved_after);
    run(t.saved_after, t.steps);
  } catch (...) {
    result.failure = text_of_exception();
  }
  return result;
}

}  // namespace syncopate::detail::conformance
