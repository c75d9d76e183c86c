#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>

#include "detail/declared.hpp"
#include "detail/formulas.hpp"
#include "tensor.hpp"
#include "training_signal.hpp"

/// The page a policy author reads. A policy is a plain struct: `double` hyper-parameters and one member template, the
/// formula for *one* parameter. The engine owns every vector and runs all formulas of a scheme in one pass over memory.
///
/// | policy              | required                                           | shipped in     |
/// |---------------------|----------------------------------------------------|----------------|
/// | `GradientPredictor` | `T predict(const landed<T>&, T&... state) const`   | `predictors/`  |
/// | `UpdateRule`        | `void apply(T& weight, T gradient, T&... state)`   | `rules/`       |
/// | `Merge`             | `T merge(T weight, const landed<T>&, T&... state)` | `merges/`      |
/// | `Averaging`         | what travels, and what its mean does               | `averaging/`   |
/// | `DelayPolicy`       | when a message leaves and when it is due           | `delays/`      |
/// | `Communicator`      | sums over ranks                                    | `communicators/` |
///
/// What a predictor, rule or merge may declare besides its formula:
///
/// - `static constexpr std::size_t state_vectors = N;` The engine keeps N parameter-sized vectors for it, zero at the
///   start, and hands their elements to the formula as `T&... state`.
/// - `static constexpr std::size_t weight_vectors = M;` The first M of these start as the weights: anchors, say. They
///   have to stay equal on all ranks, also where each has weights of its own: `checksum` finds out, and `resynchronise`
///   makes them so again.
/// - `static constexpr bool keeps_own = true;` `landed::own` is filled (one more vector per message in flight).
/// - `static constexpr bool keeps_weights = true;` `landed::weight` and `weight_then` are filled (likewise).
/// - `auto prepare(std::int64_t count) const;` Called once per update, outside the loop, with the number of earlier
///   updates; what it returns is handed to the formula as its last argument. Put per-step arithmetic here: it keeps
///   powers and branches out of the loop. A rule may return a `std::variant`: its formula is overloaded for the
///   alternatives, and the loop compiled for each, so that a simple case costs no more than it has to (see `sgd`).
///   Which alternative it is depends on hyper-parameters only, not on `count`.
/// - `observe` (predictors only): see `adaptive_exponential_smoothing`.
///   `std::array<T, M> observe(const landed<T>&, const T&... state) const` returns M terms, whose sums over a tensor or
///   a chunk are known before the formula runs; then
///   `auto prepare(std::int64_t count, const std::array<double, M>& sums, std::array<double, K>& scalars) const`
///   replaces the one above. `static constexpr std::size_t scalars = K;` are kept per group, zero at the start.
/// - `void validate() const;` Throws `configuration_error` where hyper-parameters make no sense; checked at
///   construction and at each step.
///
/// What keeps a formula fast, that is, vectorised:
///
/// - no call that cannot be inlined; the compiler's own functions such as `std::abs` are none;
/// - branches as conditional expressions that choose between values that are needed anyway, or zero:
///   `const T half = T(0.5) * m.mean; return half + (same_sign ? half : T(0));`. What only one arm needs, g++ computes
///   for those elements only, one by one, since the other ones might raise a floating-point trap;
/// - `landed::staleness` and hyper-parameters may be asked for freely: they are the same for all elements;
/// - at most one product per addition, so that a compiler that contracts `a * b + c` rounds it alike everywhere.
namespace syncopate {

/// What is known of one parameter when a mean has arrived.
template <Element T>
struct landed {
  /// Mean over ranks of what they contributed, weighted by sample counts. Zero while nothing has landed yet.
  T mean{};
  /// This rank's own contribution: to the arrived message (merges), or to the message whose mean is to be predicted
  /// (predictors; the same message unless one looks ahead). Only with `keeps_own`, else zero.
  T own{};
  /// The weight for which a gradient is wanted. Only with `keeps_weights`, else zero.
  T weight{};
  /// The weight at which this rank computed its part of the mean. Only with `keeps_weights`, else zero.
  T weight_then{};
  /// Steps between the launch of the arrived message and the gradient that is wanted; 0: the mean is fresh.
  int staleness = 0;
};

/// What `observe` sums run over.
enum class granularity {
  tensor,  ///< one group per tensor: a second read of memory
  chunk    ///< one group per chunk of the loop (`detail::chunk_length` elements): no extra traffic
};

/// Estimates the mean gradient in flight from those that landed: `T predict(const landed<T>&, T&... state) const`.
/// The engine shows it every arrived mean exactly once; a fresh mean (staleness 0) is used as it is, whatever the
/// predictor returns. With several messages in flight (look-ahead) each prediction starts from the state before the
/// newest mean. At a step at which no mean arrives, as after a warm-up, predictions are made with the newest mean, from
/// copies of the state, which has seen it.
template <class P, class T>
concept GradientPredictor =
    Element<T> && std::copyable<P> && detail::predicts<P, T, typename detail::formula_arguments<P, T>::type>;

/// Advances a weight by a gradient: `void apply(T& weight, T gradient, T&... state) const`.
template <class P, class T>
concept UpdateRule = Element<T> && std::copyable<P> && detail::applies_prepared<P, T>;

/// Joins a rank's own weight and an arrived mean of weights: `T merge(T weight, const landed<T>&, T&... state) const`;
/// `landed::own` is the rank's snapshot that went into the mean.
template <class P, class T>
concept Merge = Element<T> && std::copyable<P> && detail::merges<P, T, typename detail::formula_arguments<P, T>::type>;

/// What travels, and what its mean does to the weights. An averaging is an aggregate of policies, in members named
/// `predictor`, `rule`, `local_rule` and `merge` (those that it has), and up to four formulas, which reach their
/// policies through `with`:
///
/// - `T message(T weight, T gradient) const`: what this rank contributes.
/// - `void absorb(T& weight, const landed<T>&, const auto& with) const`: folds an arrived mean into the weights.
/// - `void advance(T& weight, T gradient, const auto& with) const`, optional: a local move before the message is
///   written. Ranks then hold weights of their own; `consensus` and `finish` take their mean.
/// - `void look_ahead(T& weight, const landed<T>&, const auto& with) const`, optional: the engine then keeps the
///   true weights to itself and leaves in the user's tensors a prediction of them: a copy, advanced by this formula
///   once for each message in flight. What it does to rules' state is forgotten again, except `local_rule`'s.
///
/// Where a mean is absorbed at the step at which a message leaves, what an averaging with `advance` sends contains that
/// mean; with `static constexpr bool snapshot_first = true;` it does not yet.
///
/// `with.predict(landed)` returns a gradient; `with.rule(weight, gradient)`, `with.local_rule(weight, gradient)` and
/// `with.merge(weight, landed)` change the weight.
template <class A, class T>
concept Averaging = Element<T> && std::copyable<A> &&
    requires(const A& a, T& weight, T gradient, const landed<T>& m, const detail::bound_archetype<T>& with) {
  { a.message(weight, gradient) } -> std::same_as<T>;
  a.absorb(weight, m, with);
};

/// Decides from step numbers, and from what all ranks know, so that all ranks decide alike. Steps count from 0.
///
/// - `bool launches(std::int64_t step) const`: whether a message leaves at this step.
/// - `bool due(std::int64_t launched, std::int64_t step) const`: whether the message of step `launched` has to be
///   absorbed at `step`. Messages are absorbed in the order in which they left.
/// - `std::int64_t most_in_flight() const`: how many messages can be in flight between two steps at most.
/// - `static constexpr bool launches_every_step = true;` where that is so. Averagings that look ahead demand it. With
///   others that send gradients, those of steps without a message are added to the next one.
///
/// One that learns from means, as `lazy_delay` does, has besides:
///
/// - `void observe(const training_signal&)`: is shown the newest mean that has been absorbed, once, before the
///   next step begins.
/// - `static constexpr bool observes_gradients = true;` where it asks for norms of gradients.
/// - `std::array<N, M> state() const` of numbers, and `void restore(const std::array<N, M>&)`, for checkpoints; the
///   latter throws `checkpoint_error` where that is no state of such a policy.
///
/// One that gives groups of layers schedules of their own has besides:
///
/// - `std::size_t fragments() const`: how many groups there are; at least one.
/// - `std::size_t fragment_of(std::size_t layer, std::size_t layers) const`: which one a layer is in, of so many;
///   a layer is an element of the model's outermost range or tuple.
/// - `auto fragment(std::size_t number) const`: a group's DelayPolicy, of one type for all. The policy's own
///   `launches`, `due` and `most_in_flight` are not asked then, but its declarations still count.
///
/// Each group's messages are counted. There is no common mean whose norm could be bounded after averaging.
template <class D>
concept DelayPolicy = std::copyable<D> && requires(const D& d, std::int64_t step) {
  { d.launches(step) } -> std::same_as<bool>;
  { d.due(step, step) } -> std::same_as<bool>;
  { d.most_in_flight() } -> std::same_as<std::int64_t>;
};

/// An operation in flight, which owns its completion. Movable, not copyable.
///
/// - `bool test()`: whether it is complete; gives communication a chance to progress; never blocks.
/// - `void wait()`: blocks until it is complete. Both throw `communication_error` where the transport fails,
///   `peer_failure` where a rank that has not called the operation goes no further, and may be called again after
///   completion. `wait` throws `stalled` once nothing has moved for the communicator's stall limit.
/// - `std::chrono::steady_clock::time_point landed_at() const`, optional: when it completed, where the transport knows
///   better than the moment at which `test` or `wait` noticed.
///
/// Destroying an unfinished request does not wait. The memory it works on may still be written to: the engine keeps it.
template <class R>
concept Request = std::movable<R> && requires(R& request) {
  { request.test() } -> std::same_as<bool>;
  request.wait();
};

/// P ranks that can sum. All operations are collective: every rank calls the same ones, in the same order, with the
/// same sizes. Calls on one communicator come from one thread at a time. What blocks throws as `Request::wait` does.
///
/// - `int rank() const`, `int size() const`.
/// - `C duplicate() const`: the same ranks, on a channel of its own: messages of the two never meet, in whatever order
///   ranks interleave them.
/// - `Request start_sum(std::span<T> elements)`: starts summing over ranks, in place; the memory is the
///   operation's until it is complete. The result is bitwise the same on every rank. Several may be in flight; they are
///   started in the same order on all ranks.
/// - `void sum(std::span<T> elements)`, optional: the same in one blocking call, where that is faster than to start and
///   to wait. Messages that are due at the step at which they leave use it.
///   If it throws, the memory stays the operation's, as that of a request that is destroyed unfinished.
/// - `void broadcast(std::span<std::byte> bytes, int root)`: blocking.
/// - `void all_gather(std::span<const std::byte> own, std::span<std::byte> all)`: blocking; `own` is equally long on
///   all ranks, and `all` is `size()` times as long.
/// - `void fail(std::string_view what) noexcept`, optional: this rank goes no further. The others get a `peer_failure`
///   with its number and this text in the operations that it has not called, on whichever channel of these ranks. Not
///   collective, never blocks; may be called while an exception unwinds the stack.
/// - `communication_cost cost() const`, optional: what the sums have cost so far, for `statistics::transport`.
/// - `std::chrono::steady_clock::time_point now() const`, optional: a clock of its own, from which statistics take all
///   times, as for a simulated network. It never goes back; `Request::landed_at` is by the same clock.
template <class C, class T>
concept Communicator = Element<T> && std::movable<C> &&
    requires(C& c, const C& k, std::span<T> elements, std::span<std::byte> bytes, std::span<const std::byte> own) {
  { k.rank() } -> std::same_as<int>;
  { k.size() } -> std::same_as<int>;
  { k.duplicate() } -> std::same_as<C>;
  { c.start_sum(elements) } -> Request;
  c.broadcast(bytes, 0);
  c.all_gather(own, bytes);
};

/// One whose sums come in halves, for `sharded_averaging`. Both work in place on `size()` blocks of equal length, one
/// for each rank, and are otherwise as `start_sum`.
///
/// - `Request start_reduce_scatter(std::span<T> elements)`: the block with this rank's number becomes the sum over
///   ranks; what is in the others afterwards is left open.
/// - `Request start_all_gather(std::span<T> elements)`: every block becomes what is in it on the rank with its number.
/// - `Request start_all_to_all(std::span<T> elements)`: block j of rank i becomes block i of rank j.
///
/// What the three return has to be of the same type as what `start_sum` does.
template <class C, class T>
concept ShardingCommunicator = Communicator<C, T> && requires(C& c, std::span<T> elements) {
  { c.start_reduce_scatter(elements) } -> std::same_as<decltype(c.start_sum(elements))>;
  { c.start_all_gather(elements) } -> std::same_as<decltype(c.start_sum(elements))>;
  { c.start_all_to_all(elements) } -> std::same_as<decltype(c.start_sum(elements))>;
};

}  // namespace syncopate
