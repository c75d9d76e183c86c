#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <iterator>
#include <optional>
#include <ranges>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <typeinfo>
#include <utility>
#include <vector>

#include "combination.hpp"
#include "concepts.hpp"
#include "detail/agreement.hpp"
#include "detail/archive.hpp"
#include "detail/bucket.hpp"
#include "detail/checkpoint_facts.hpp"
#include "detail/combine.hpp"
#include "detail/factored_layers.hpp"
#include "detail/finite.hpp"
#include "detail/header.hpp"
#include "detail/lane.hpp"
#include "detail/layers.hpp"
#include "detail/layout.hpp"
#include "detail/measurement.hpp"
#include "detail/roles.hpp"
#include "detail/scheme_state.hpp"
#include "detail/sentence.hpp"
#include "error.hpp"
#include "memory_report.hpp"
#include "scheme_options.hpp"
#include "statistics.hpp"
#include "tensor.hpp"
#include "training_signal.hpp"
#include "version.hpp"

namespace syncopate {

// A text that a compiler quotes has to be a literal.
#define SYNCOPATE_CHECK_ROLE(role, concept, description) \
  if constexpr (requires(A a) { a.role; })               \
  static_assert(concept<detail::role##_type<A>, T>,      \
                "syncopate: the averaging's " #role " must be " description "; see syncopate/concepts.hpp")
#define SYNCOPATE_CHECK_MODEL(X, name, types)                                                                   \
  static_assert(Model<X>,                                                                                       \
                "syncopate: " name                                                                              \
                " must be a tensor (a contiguous range of float or double, or a type with tensor_traits), a "   \
                "range of tensors or a tuple of tensors; a strided view or an unevaluated expression is none: " \
                "assign it to a container first");                                                              \
  static_assert(detail::fits<X, Elements>(), "syncopate: " name " must have the element types " types)

/// The engine: owns messages, histories and rules' states, and runs a composition of policies in one pass over memory.
///
/// A rank's thread makes one scheme and calls `step` once per mini-batch, with the gradient that it computed at the
/// weights that the scheme left in place. `Elements` is the model's element type: `float`, `double`, or
/// `std::tuple<float, double>` for a model with both.
///
///     syncopate::update_scheme scheme{weights, communicator, syncopate::fixed_delay{1},
///                                     syncopate::gradient_averaging{syncopate::no_prediction{}, syncopate::sgd{}}};
///
/// Collective, that is, called by all ranks in the same order: the constructor, `step`, `join`, `consensus`, `finish`.
/// Ranks may make different numbers of steps, see `join`. Nothing is allocated in `step`.
///
/// What goes wrong on one rank is an error on all of them. Where ranks called different things, or where the transport
/// gives up, that is a `communication_error`, after which the scheme is of no more use. A scheme that is destroyed
/// while an exception passes by tells the other ranks, which get a `peer_failure`, if its communicator can.
template <class Elements, class C, class D, class A>
class update_scheme {
  using phase = detail::scheme_state::phase;
  using lanes = typename detail::lanes<Elements, C, A>::type;

  template <class T>
  static consteval bool complain() {
    static_assert(Communicator<C, T>,
                  "syncopate: the second argument must be a Communicator; see syncopate/concepts.hpp");
    static_assert(Averaging<A, T>, "syncopate: the fourth argument must be an Averaging; see syncopate/concepts.hpp");
    SYNCOPATE_CHECK_ROLE(predictor, GradientPredictor,
                         "a GradientPredictor: T predict(const landed<T>&, T&... state) const");
    SYNCOPATE_CHECK_ROLE(rule, UpdateRule, "an UpdateRule: void apply(T& weight, T gradient, T&... state) const");
    SYNCOPATE_CHECK_ROLE(local_rule, UpdateRule, "an UpdateRule: void apply(T& weight, T gradient, T&... state) const");
    SYNCOPATE_CHECK_ROLE(merge, Merge, "a Merge: T merge(T weight, const landed<T>&, T&... state) const");
    if constexpr (detail::shards<A>) {
      static_assert(ShardingCommunicator<C, T>,
                    "syncopate: an averaging whose work ranks share needs a ShardingCommunicator; see "
                    "syncopate/concepts.hpp");
      static_assert(!detail::advances<A, T> && !detail::looks_ahead<A, T>,
                    "syncopate: an averaging whose work ranks share can neither advance nor look ahead: no rank has "
                    "all weights' state");
    }
    if constexpr (requires { requires detail::predictor_type<A>::looks_ahead_only; })
      static_assert(
          detail::looks_ahead<A, T>,
          "syncopate: this predictor differs between ranks, so only an averaging that looks ahead can use it: "
          "committed, it would let the ranks' weights drift apart");
    return true;
  }

  static constexpr bool launches_every_step = detail::declares_launches_every_step<D>;
  static constexpr bool adapts = detail::adapts<D>;

 public:
  /// Collective. Fixes the layout, makes every rank start from rank 0's weights, and allocates all memory.
  ///
  /// Throws, on every rank, `configuration_error` for senseless hyper-parameters or ranks with different policies or
  /// options, and `layout_error` for ranks with different tensors.
  template <class W>
  update_scheme(W&& weights, C communicator, D delay, A averaging, const scheme_options& options = {})
      : communicator_(communicator.duplicate()),
        delay_(std::move(delay)),
        averaging_(std::move(averaging)),
        options_(options) {
    check_types();
    check_model<W>();
    detail::scheme_facts facts{};
    facts.version = version;
    facts.options = detail::option_facts(options);
    facts.scheme = scheme_;
    try {
      validate();
      facts.most_in_flight = delay_.most_in_flight();
      facts.schedule = schedule_ = detail::schedule_of(delay_);
      for_each_tensor(weights, [&](auto elements) {
        using T = typename decltype(elements)::value_type;
        tensors_.push_back({elements.size(), sizeof(T)});
        positions_.push_back(lane_of<T>().weights.size());
        lane_of<T>().weights.emplace_back();
        lane_of<T>().readable.emplace_back();
      });
      for_each_layer(weights, [&](auto& layer) {
        std::size_t tensors = 0;
        for_each_tensor(layer, [&](auto) { ++tensors; });
        layers_.add(tensors);
      });
      layers_.allow_to_miss(options_.optional_layers);
      choose_exchanges();
      facts.tensors = tensors_.size();
      disjoint_.start(tensors_.size());
      bind_weights(weights);
      disjoint_.check();
    } catch (const std::exception& fault) {
      facts.fault_of_layout = dynamic_cast<const layout_error*>(&fault) != nullptr;
      std::string(fault.what()).copy(facts.fault.data(), facts.fault.size() - 1);
    }
    detail::agree(communicator_, facts, tensors_);
    for_each_lane([&](auto& lane) {
      for (auto elements : lane.weights) communicator_.broadcast(std::as_writable_bytes(elements), 0);
      make_buckets(lane, facts.most_in_flight);
      make_zeros(lane);
      make_products(lane);
    });
    auto& first = std::get<0>(lanes_);
    if (tensors_.empty())
      first.buckets.emplace_back(std::vector<detail::piece>{}, facts.most_in_flight, rank(), size(), observes());
    order_buckets();
    known_.reserve(static_cast<std::size_t>(facts.most_in_flight) + 1);
  }

  update_scheme(update_scheme&&) = default;
  update_scheme& operator=(update_scheme&&) = delete;

  /// Waits for nobody. Memory that a transport may still write to is kept until the process ends.
  ~update_scheme() {
    if (!state_.is(phase::moved) && std::uncaught_exceptions() > exceptions_) fail(state_.failure());
  }

  /// Collective. One step of training: hands in this rank's mini-batch mean gradient, and leaves in `weights` what the
  /// next gradient is to be computed at. The gradient may be overwritten as soon as the call returns.
  ///
  /// `samples` is this rank's weight in the mean: the size of its mini-batch, in any unit that is the same on all
  /// ranks. A rank may have none, and its gradient is not looked at then; if no rank has any, nothing is absorbed. A
  /// total that is no power of two costs one more pass over the message. Hyper-parameters in force are those at the
  /// moment when a mean is absorbed.
  ///
  /// Averagings that send gradients may have a delay policy that launches no message at some steps: what these
  /// contribute travels with the next message, as a sum over steps, so that a mean is worth as many steps of a learning
  /// rate. A rank's weight in it is then the mean of its `samples`.
  ///
  /// Throws `layout_error` where tensors have other sizes than at construction or share memory, `configuration_error`
  /// for hyper-parameters that make no sense any more, `usage_error` after `finish`; nothing has happened then. On all
  /// ranks, as `scheme_options` says, it throws `non_finite_error`; the step has then been made but for the mean.
  template <class W, class G>
  void step(W&& weights, G&& gradients, double samples = 1) {
    check_model<W>();
    SYNCOPATE_CHECK_MODEL(G, "gradients", "of the weights");
    guarded([&] {
      prepare("step", weights, samples);
      for (const detail::factored& f : factored_) f.require_gradient("step");
      bind<false>(gradients, {"gradients", 0, tensors_.size()});
      disjoint_.check();
      begin(detail::calls::step, samples);
      layers_.give_all();
      close(delay_.due(clock_, clock_));
      settle();
      refuse();
    });
  }

  /// Not collective by itself, but part of a step: `step`, layer by layer, is
  ///
  ///     scheme.begin_step(weights);
  ///     for (std::size_t i = 0; i < layers; ++i) {
  ///       scheme.before_forward(i);  // waits for what layer i needs, and updates it
  ///       …                          // forward of layer i
  ///     }
  ///     for (std::size_t i = layers; i-- > 0;) {
  ///       …                                      // backward of layer i
  ///       scheme.gradient_ready(i, gradient[i]);  // leaves at once, and travels while the other layers are computed
  ///     }
  ///     scheme.end_step();
  ///
  /// with bitwise the same weights, if the communicator's `sum` adds in the same order as its `start_sum`. A layer is
  /// an element of the model's outermost range or tuple: a tensor, or a model of its own. All ranks make the same calls
  /// of `begin_step` and `end_step`; layers may come in any order.
  ///
  /// Weights change in `before_forward` and `end_step` only: backward still reads them. `weights` and gradients have to
  /// stay where they are until `end_step`, and weights until the next `begin_step` or `finish`. Throws as `step` does,
  /// `non_finite_error` at the next `before_forward`. With a delay policy that learns from means (`lazy_delay`),
  /// `begin_step` waits for all layers, and throws that, since what has arrived decides what is to leave.
  template <class W>
  void begin_step(W&& weights, double samples = 1) {
    check_model<W>();
    guarded([&] {
      prepare("begin_step", weights, samples);
      disjoint_.check();
      if constexpr (adapts) {
        settle();
        refuse();
      }
      begin(detail::calls::step, samples);
      state_.begin_step();
    });
  }

  /// Hands in the gradient of one layer. What travels together leaves when all of it is there, in the order of backward
  /// whatever the order of calls. Averagings that move each rank's weights by its own gradient, and norms that are
  /// bounded before averaging, need all gradients first: everything leaves in `end_step` then. Throws `usage_error` for
  /// a layer that is not there, was given before in this step, or has not been through `before_forward` since the last
  /// one, and `layout_error` as `step` does; the step goes on as if it had not been called.
  template <class G>
  void gradient_ready(std::size_t layer, G&& gradient) {
    SYNCOPATE_CHECK_MODEL(G, "a layer's gradient", "of the weights");
    guarded([&] {
      state_.require_running("gradient_ready");
      state_.require_open_step("gradient_ready");
      layers_.check(layer);
      if (const detail::factored* const f = factored_.find(layer)) f->require_gradient("gradient_ready");
      const auto& wanted = layers_.all()[layer];
      bind<false>(gradient, {"gradients", wanted.first, wanted.tensors, layer});
      disjoint_.check();
      layers_.give(layer);
      if (may_leave_early()) depart(true, false);
    });
  }

  /// Hands in the gradient of one of `scheme_options::factored_layers` as its factors: the activations that went into
  /// it, and the errors that came back, row by row, such that activationsᵀ · errors is the gradient. They have to stay
  /// where they are until `end_step`. Otherwise as `gradient_ready`; throws `layout_error` where the two are of
  /// different mini-batches, too.
  template <class X, class E>
  void factors_ready(std::size_t layer, const X& activations, const E& errors) {
    SYNCOPATE_CHECK_MODEL(X, "activations", "of the weights");
    SYNCOPATE_CHECK_MODEL(E, "errors", "of the weights");
    guarded([&] {
      state_.require_running("factors_ready");
      state_.require_open_step("factors_ready");
      layers_.check(layer);
      give_factors(factored_.at(layer, " is handed in as its factors, but"), activations, errors);
      layers_.give(layer);
      if (may_leave_early()) depart(true, false);
    });
  }

  /// How the gradient of one of `scheme_options::factored_layers` travels, and by what that was chosen. Throws
  /// `usage_error` for another layer.
  const factor_choice& exchange_of(std::size_t layer) const { return factored_.at(layer, "").choice; }

  /// Ends the step: what has not left yet leaves, and each rank's own move is made. Throws `usage_error` if a gradient
  /// is missing, unless its layer is among `scheme_options::optional_layers`: then it is zero. The step is still open
  /// then.
  void end_step() {
    guarded([&] {
      state_.require_running("end_step");
      state_.require_open_step("end_step");
      if (now_.samples > 0) {
        layers_.check_complete();
        std::size_t tensor = 0;
        for (const auto& layer : layers_.all())
          for (std::size_t last = tensor + layer.tensors; tensor < last; ++tensor)
            if (!layer.given) bind_zeros(tensor);
        for (const detail::factored& f : factored_)
          if (f.travels() && !layers_.all()[f.layer.layer].given) give_no_factors(f);
      }
      layers_.give_all();
      close(false);
      hand_out_what_is_there();
    });
  }

  /// Brings a layer's weights up to date: waits for what has travelled with it, if the delay policy says that it is
  /// due. Costs nothing when called again. Where the norm of the mean is bounded, all layers are waited for.
  void before_forward(std::size_t layer) {
    guarded([&] {
      state_.require_running("before_forward");
      const auto& wanted = layers_.at(layer, "before_forward");
      if (wanted.current) return;
      for (const std::size_t bucket : wanted.buckets) land(bucket);
      layers_.make_current(layer);
      refuse();
      hand_out_what_is_there();
    });
  }

  /// Collective. For a rank that has no mini-batch left, while others may have: takes part in their steps, with weight
  /// zero, until all ranks have joined. Then what is in flight has been absorbed, and training may go on, say with the
  /// next epoch. Costs one message, even if all ranks join after the same number of steps.
  template <class W>
  void join(W&& weights) {
    check_model<W>();
    guarded([&] {
      state_.require_running("join");
      state_.require_no_open_step("join");
      settle();
      validate();
      bind_weights(weights);
      constexpr std::int64_t most = 1 << 20;
      for (std::int64_t launched = clock_; !tick_of_join();)
        if (now_.launches)
          launched = clock_;
        else if (clock_ - launched > most)
          throw usage_error("syncopate: ranks cannot join, since the delay policy launches no message in " +
                            std::to_string(most) + " steps");
    });
  }

  /// Gives communication a chance to progress; call it now and then during forward and backward where the communicator
  /// has no thread of its own. Not collective, never blocks.
  void poll() {
    for_each_lane([](auto& lane) {
      for (auto& bucket : lane.buckets) bucket.poll();
    });
    if (sharded && state_.is(phase::running)) guarded([&] { hand_out_what_is_there(); });
  }

  /// Collective. Writes to `out` the model to evaluate or to save: the weights without any prediction, or, where ranks
  /// hold weights of their own, their mean. `out` is a model of the same layout, may be `weights`, and is bitwise the
  /// same on all ranks. Training goes on undisturbed.
  template <class W, class O>
  void consensus(W&& weights, O&& out) {
    check_model<W>();
    check_model<O>();
    guarded([&] {
      state_.require_between_steps("consensus");
      settle();
      bind_weights_to_read(weights);
      bind_weights(out);
      agree_on_weights();
    });
  }

  /// Collective. Ends training: joins, so that ranks may have made different numbers of steps, and leaves in `weights`
  /// the consensus, bitwise the same on all ranks. Throws `usage_error` when called again.
  template <class W>
  void finish(W&& weights) {
    if (state_.is(phase::finished)) throw usage_error("syncopate: finish was called twice");
    join(weights);
    guarded([&] {
      state_.becomes(phase::finished);
      if constexpr (ranks_differ) {
        bind_weights_to_read(weights);
        agree_on_weights();
      }
    });
  }

  /// Writes `weights` and everything that the scheme keeps to an archive in Boost.Serialization's idiom: `archive & x`
  /// for numbers, and `save_binary(address, bytes)`, if it has that. Lands what is in flight, and stores it, without
  /// absorbing it, so that training may go on here, or be resumed by `load`, with bitwise the same results. Each rank
  /// writes an archive of its own, between the same two steps; hyper-parameters are the program's to restore. See also
  /// checkpoint.hpp.
  template <class Archive, class W>
  void save(Archive& archive, W&& weights) {
    check_model<W>();
    guarded([&] {
      state_.require_running("save");
      state_.require_no_open_step("save");
      settle();
      bind_weights_to_read(weights);
      checkpoint_facts().save(archive);
      const statistics_type& taken = measured_.taken;
      for (const std::int64_t number : {clock_, taken.steps, taken.launched, taken.absorbed, taken.skipped})
        detail::put(archive, number);
      detail::put(archive, at_fault_);
      detail::put(archive, signal_.step);
      detail::put(archive, signal_.ranks);
      for (const double number : {signal_.samples, signal_.loss, signal_.square_of_mean, signal_.mean_of_squares,
                                  signal_.latest_squares, signal_.earlier_squares})
        detail::put(archive, number);
      if constexpr (adapts)
        for (const auto number : delay_.state()) detail::put(archive, number);
      for_each_bucket([&](auto& bucket, auto&) { bucket.save(archive, measured_); });
      for_each_lane([&](auto& lane) {
        for (const auto elements : lane.readable) detail::put(archive, elements);
      });
    });
  }

  /// Collective. Puts a new scheme, and `weights`, into the state in which `save` found this rank's. Communicators may
  /// be others; tensors, policies and the number of ranks may not.
  ///
  /// Throws `checkpoint_error` on all ranks where the archive of some rank cannot be read, belongs to another layout,
  /// scheme, version or rank, or to another step than those of the other ranks; weights and scheme may be half written
  /// then. (load_checkpoint in checkpoint.hpp looks first whether a file is whole.)
  template <class Archive, class W>
  void load(Archive& archive, W&& weights) {
    check_model<W>();
    guarded([&] {
      state_.require_running("load");
      if (clock_ > 0) throw usage_error("syncopate: load was called after a step: make a new scheme to load into");
      bind_weights(weights);
      std::string fault;
      try {
        read(archive);
      } catch (const error& refusal) {
        fault = refusal.what();
      } catch (const std::exception& failure) {  // the archive's own
        fault = std::string("syncopate: the checkpoint cannot be read: ") + failure.what();
      }
      try {
        detail::agree_on_fault<checkpoint_error>(communicator_, fault);
        const auto clocks = detail::gather(communicator_, std::span<const std::int64_t>(&clock_, 1));
        if (std::ranges::any_of(clocks, [&](std::int64_t other) { return other != clock_; }))
          throw checkpoint_error("syncopate: ranks' checkpoints are of different steps: " +
                                 detail::by_rank(size(), [&](int rank) {
                                   return "step " + std::to_string(clocks[static_cast<std::size_t>(rank)]);
                                 }));
      } catch (const checkpoint_error&) {
        state_.becomes(phase::failed);
        throw;
      }
    });
  }

  /// Collective. Combines a buffer that is not among the weights: a contiguous range of numbers, as long on all ranks.
  /// Takes memory for all ranks' buffers. Throws `configuration_error` for an average of integers, which no mean of
  /// floating-point numbers would be right for, and `layout_error` on all ranks where they call it differently.
  template <class X>
  requires std::ranges::contiguous_range<X> && std::is_arithmetic_v<std::ranges::range_value_t<X>>
  void combine(X&& buffer, combination how) {
    using T = std::ranges::range_value_t<X>;
    guarded([&] {
      if (state_.is(phase::failed)) state_.require_running("combine");
      detail::combine(communicator_, std::span<T>(buffer), how);
    });
  }

  /// Collective. A hash of what has to be bitwise the same on all ranks: the weights without any prediction, and the
  /// rule's state. Throws `communication_error`, on all ranks, where it is not. Where ranks hold weights of their own,
  /// it is the hash of the numbers of steps alone.
  template <class W>
  std::uint64_t checksum(W&& weights) {
    check_model<W>();
    std::uint64_t sum = 0;
    guarded([&] {
      state_.require_between_steps("checksum");
      settle();
      bind_weights_to_read(weights);
      sum = detail::hash_of(std::to_string(clock_));
      const auto add = [&](auto elements) {
        const auto bytes = std::as_bytes(elements);
        sum = detail::hash_of({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, sum);
      };
      if constexpr (!ranks_differ) {
        if constexpr (!predicts_ahead) for_each_lane([&](auto& lane) { std::ranges::for_each(lane.readable, add); });
        for_each_bucket([&](auto& bucket, auto&) { bucket.for_each_common_vector(add); });
      }
      const auto sums = detail::gather(communicator_, std::span<const std::uint64_t>(&sum, 1));
      if (std::ranges::any_of(sums, [&](std::uint64_t other) { return other != sum; }))
        throw communication_error("syncopate: ranks have drifted apart: " + detail::by_rank(size(), [&](int rank) {
                                    return "checksum " + std::to_string(sums[static_cast<std::size_t>(rank)]);
                                  }));
    });
    return sum;
  }

  /// Collective. All ranks go on with rank 0's weights and rule's state, say after `checksum` has told that they have
  /// drifted apart. What is in flight stays so.
  template <class W>
  void resynchronise(W&& weights) {
    check_model<W>();
    guarded([&] {
      if (!state_.is(phase::failed)) {
        state_.require_running("resynchronise");
        state_.require_no_open_step("resynchronise");
        settle();
      }
      bind_weights(weights);
      const auto share = [&](auto elements) { communicator_.broadcast(std::as_writable_bytes(elements), 0); };
      for_each_lane([&](auto& lane) { std::ranges::for_each(lane.weights, share); });
      for_each_bucket([&](auto& bucket, auto& lane) {
        bucket.for_each_common_vector(share);
        if constexpr (sharded) bucket.start(lane.weights);
      });
      state_.becomes(phase::running);
    });
  }

  /// Tells the other ranks, if the communicator can, that this one goes on no further, and why: they get a
  /// `peer_failure` with this text. For a program that handles an error of its own; a scheme that is destroyed while an
  /// exception passes by does it by itself, but knows only the texts of its own errors. Not collective, never blocks.
  void fail(std::string_view why) noexcept {
    if (state_.is(phase::running)) state_.becomes(phase::failed);
    if constexpr (requires { communicator_.fail(why); }) communicator_.fail(why);
  }

  /// Tells the mean loss of this rank's mini-batch, to be averaged over ranks with the message of the next step that
  /// begins, without a message of its own; see `signal`. Not collective.
  void note_loss(double loss) { loss_ = loss; }

  /// What all ranks know of the newest mean that has been absorbed in all layers. Not collective, but the same on all
  /// ranks between the same two steps; layer by layer, once all layers have been through `before_forward`.
  const training_signal& signal() const { return signal_; }

  /// The update rule, whose hyper-parameters may be changed between steps: `scheme.rule().learning_rate = 0.01`. All
  /// ranks must make the same change at the same step.
  auto& rule() { return averaging_.rule; }
  const auto& rule() const { return averaging_.rule; }

  /// The averaging with all its policies, for the same purpose.
  A& averaging() { return averaging_; }
  const A& averaging() const { return averaging_; }

  /// What this rank has measured so far.
  syncopate::statistics statistics() const {
    syncopate::statistics taken = measured_.taken;
    std::apply(
        [&](const auto&... lane) {
          (std::ranges::transform(lane.buckets, std::back_inserter(taken.buckets), [](auto& b) { return b.taken(); }),
           ...);
        },
        lanes_);
    if constexpr (requires { communicator_.cost(); }) taken.transport = communicator_.cost();
    return taken;
  }

  /// What this rank keeps.
  memory_report memory() const {
    memory_report kept;
    std::apply(
        [&](const auto&... lane) { (std::ranges::for_each(lane.buckets, [&](auto& b) { b.add_to(kept); }), ...); },
        lanes_);
    return kept;
  }

  /// The channel of its own that the scheme sums on. Whoever calls something there does so on all ranks, between the
  /// same two calls of the scheme.
  C& communicator() { return communicator_; }
  const C& communicator() const { return communicator_; }

  int rank() const { return communicator_.rank(); }
  int size() const { return communicator_.size(); }

 private:
  static constexpr bool ranks_differ = detail::advances<A, typename std::tuple_element_t<0, lanes>::element>;
  static constexpr bool predicts_ahead = detail::looks_ahead<A, typename std::tuple_element_t<0, lanes>::element>;
  static constexpr bool sharded = detail::shards<A>;

  static constexpr void check_types() {
    static_assert(DelayPolicy<D>, "syncopate: the third argument must be a DelayPolicy; see syncopate/concepts.hpp");
    static_assert([]<class... Lane>(std::type_identity<std::tuple<Lane...>>) {
      return (complain<typename Lane::element>() && ...);
    }(std::type_identity<lanes>{}));
    static_assert(
        !predicts_ahead || launches_every_step,
        "syncopate: an averaging that looks ahead needs a delay policy that launches at every step (fixed_delay), "
        "since it looks ahead over messages in flight, not over what has not left yet");
    static_assert(!ranks_differ || !detail::observes_gradients<D>,
                  "syncopate: this delay policy learns from gradients, so it needs an averaging that sends gradients, "
                  "not weights");
  }

  template <class W>
  static constexpr void check_model() {
    SYNCOPATE_CHECK_MODEL(W, "weights", "that the scheme was made for");
  }

  void validate() const {
    options_.validate();
    if (ranks_differ && clips_after())
      throw configuration_error("syncopate: a mean of weights has no gradient's norm: clip before_averaging");
    if (ranks_differ && observes())
      throw configuration_error("syncopate: observes_gradients needs an averaging that sends gradients, not weights");
    detail::validate(delay_);
    detail::for_each_policy(averaging_, [](const auto& policy) { detail::validate(policy); });
    constexpr std::int64_t most = 1 << 16;
    if (delay_.most_in_flight() < 0 || delay_.most_in_flight() > most)
      throw configuration_error("syncopate: the delay policy wants " + std::to_string(delay_.most_in_flight()) +
                                " messages in flight, but only 0 to " + std::to_string(most) + " are possible");
    if constexpr (!std::same_as<detail::local_rule_type<A>, detail::absent>)
      if (delay_.most_in_flight() > 1)
        throw configuration_error(
            "syncopate: a local rule of its own is defined for a delay of one step at most, but " +
            std::to_string(delay_.most_in_flight()) + " messages would be in flight");
  }

  using statistics_type = syncopate::statistics;

  detail::checkpoint_facts checkpoint_facts() const {
    std::uint64_t layout = detail::hash_of("");
    for (const detail::tensor_facts& tensor : tensors_) layout = detail::hash_of(tensor.text(), layout);
    return {version, scheme_, std::ssize(tensors_), layout, delay_.most_in_flight(), schedule_, options_.bucket_bytes,
            size(),  rank()};
  }

  /// What `load` does on one rank.
  template <class Archive>
  void read(Archive& archive) {
    checkpoint_facts().compare(archive);
    statistics_type& taken = measured_.taken;
    for (std::int64_t* const number : {&clock_, &taken.steps, &taken.launched, &taken.absorbed, &taken.skipped}) {
      *number = detail::get<std::int64_t>(archive);
      if (*number < 0 || *number > std::int64_t{1} << 53)
        throw checkpoint_error("syncopate: the checkpoint is damaged: its numbers of steps make no sense");
    }
    at_fault_ = detail::get<bool>(archive);
    signal_.step = detail::get<std::int64_t>(archive);
    signal_.ranks = detail::get<int>(archive);
    for (double* const number : {&signal_.samples, &signal_.loss, &signal_.square_of_mean, &signal_.mean_of_squares,
                                 &signal_.latest_squares, &signal_.earlier_squares})
      *number = detail::get<double>(archive);
    if constexpr (adapts) {
      auto state = delay_.state();
      for (auto& number : state) number = detail::get<std::remove_cvref_t<decltype(number)>>(archive);
      delay_.restore(state);
    }
    for_each_bucket([&](auto& bucket, auto&) { bucket.load(archive, clock_); });
    std::optional<std::pair<std::int64_t, std::int64_t>> first;
    for_each_bucket([&](auto& bucket, auto&) {
      if (first.value_or(bucket.messages()) != bucket.messages())
        throw checkpoint_error("syncopate: the checkpoint is damaged: its buckets are of different steps");
      first = bucket.messages();
    });
    for_each_lane([&](auto& lane) {
      for (const auto elements : lane.weights) detail::get(archive, elements);
    });
  }

  /// Notes what goes wrong in `work`.
  template <class Work>
  void guarded(Work work) {
    try {
      work();
    } catch (const communication_error& error) {
      state_.fail(error.what(), true);
      throw;
    } catch (const std::exception& error) {
      state_.fail(error.what(), false);
      throw;
    }
  }

  template <class Visitor>
  void for_each_lane(Visitor visit) {
    visit(std::get<0>(lanes_));
    if constexpr (std::tuple_size_v < lanes >> 1) visit(std::get<1>(lanes_));
  }

  /// In the order in which they leave.
  template <class Visitor>
  void for_each_bucket(Visitor visit) {
    for (std::size_t number = 0; number < order_.size(); ++number) visit_bucket(number, visit);
  }

  template <class Visitor>
  void visit_bucket(std::size_t number, Visitor&& visit) {
    const place at = order_[number];
    auto& first = std::get<0>(lanes_);
    if (at.lane == 0) return visit(first.buckets[at.bucket], first);
    if constexpr (std::tuple_size_v < lanes >> 1) {
      auto& second = std::get<1>(lanes_);
      visit(second.buckets[at.bucket], second);
    }
  }

  template <class T>
  auto& lane_of() {
    return std::get<detail::lane<T, C, A>>(lanes_);
  }

  /// Notes where the user's tensors are, if they fit the layout.
  template <bool Written, class X>
  void bind(X&& model, const detail::part_of_model& wanted) {
    std::size_t number = wanted.first;
    const std::size_t end = wanted.first + wanted.tensors;
    for_each_tensor(model, [&](auto elements) {
      using T = typename decltype(elements)::value_type;
      if (number == end) wanted.refuse_more();
      if (disjoint_.moved(elements, number, Written)) {
        const detail::tensor_facts facts{elements.size(), sizeof(T)};
        if (facts != tensors_[number]) wanted.refuse_size(number, facts, tensors_[number]);
        static_assert(!Written || !std::is_const_v<typename decltype(elements)::element_type>,
                      "syncopate: weights must not be const");
        if constexpr (Written)
          lane_of<T>().weights[positions_[number]] = elements;
        else
          lane_of<T>().readable[positions_[number]] = elements;
        disjoint_.note(elements, number, Written);
      }
      ++number;
    });
    if (number < end) wanted.refuse_fewer(number - wanted.first);
  }

  template <class W>
  void bind_weights(W&& weights) {
    bind<true>(weights, {"weights", 0, tensors_.size()});
  }

  /// Binds weights in place of gradients, which are forgotten: they may be elsewhere afterwards.
  template <class W>
  void bind_weights_to_read(W&& weights) {
    bind<false>(weights, {"weights", 0, tensors_.size()});
    for (std::size_t tensor = 0; tensor < tensors_.size(); ++tensor) disjoint_.forget(tensor, false);
  }

  void bind_zeros(std::size_t tensor) {
    for_each_lane([&](auto& lane) {
      using T = typename std::remove_reference_t<decltype(lane)>::element;
      if (sizeof(T) == tensors_[tensor].element_bytes)
        lane.readable[positions_[tensor]] = lane.zeros.elements().first(tensors_[tensor].size);
    });
    disjoint_.forget(tensor, false);
  }

  /// Cuts the tensors into buckets, last tensor first: the order in which backward produces gradients. Within a bucket
  /// they keep their own order, in which they most likely lie in memory: processors fetch ahead in that direction.
  template <class T>
  void make_buckets(detail::lane<T, C, A>& lane, std::int64_t most_in_flight) {
    std::vector<detail::piece> pieces;
    std::size_t bytes = 0;
    const auto add = [&](std::optional<detail::factors> of_layer = {}) {
      lane.buckets.emplace_back(std::exchange(pieces, {}), most_in_flight, rank(), size(), observes(),
                                std::move(of_layer), options_.product);
      lane.buckets.back().start(lane.weights);
    };
    const auto close = [&] {
      if (pieces.empty()) return;
      std::ranges::reverse(pieces);
      add();
      bytes = 0;
    };
    for (std::size_t tensor = lane.weights.size(); tensor-- > 0;) {
      const std::span<T> elements = lane.weights[tensor];
      if (detail::factored* const f = factored_that_ends_with<T>(tensor)) {
        close();
        f->place = lane.buckets.size();
        tensor -= f->tensors - 1;
        for (std::size_t t = tensor; t < tensor + f->tensors; ++t) pieces.push_back({t, lane.weights[t].size()});
        add(detail::factors(f->layer, f->has_bias(), f->choice.exchange == factor_exchange::sharded, rank(), size()));
        continue;
      }
      if (bytes + elements.size_bytes() > options_.bucket_bytes) close();
      pieces.push_back({tensor, elements.size()});
      bytes += elements.size_bytes();
    }
    close();
    if (clips_before())
      for (const auto elements : lane.weights)
        lane.clipped_readable.push_back(lane.clipped.emplace_back(elements.size()).elements());
  }

  /// Of the constructor. Throws `configuration_error` and `layout_error`.
  void choose_exchanges() {
    factored_.choose(options_, layers_, tensors_,
                     {.mean_alone = !ranks_differ && !detail::any_keeps_own<A> && !detail::any_keeps_weights<A>,
                      .own_gradients = clips_before() || observes(),
                      .every_step = launches_every_step,
                      .in_halves = ShardingCommunicator<C, typename std::tuple_element_t<0, lanes>::element>,
                      .sharded = sharded,
                      .ranks = communicator_.size()});
  }

  /// The layer that travels as factors whose last tensor this is, among those of its element type.
  template <class T>
  detail::factored* factored_that_ends_with(std::size_t tensor) {
    for (detail::factored& f : factored_) {
      const std::size_t last = f.first + f.tensors - 1;
      if (f.travels() && tensors_[last].element_bytes == sizeof(T) && positions_[last] == tensor) return &f;
    }
    return nullptr;
  }

  /// Notes factors for the message of their layer, or forms their product.
  template <class X, class E>
  void give_factors(const detail::factored& f, const X& activations, const E& errors) {
    for_each_tensor(activations, [&](const auto rows) {
      using T = std::remove_const_t<typename std::remove_cvref_t<decltype(rows)>::element_type>;
      std::span<const T> others;
      for_each_tensor(errors, [&](const auto elements) {
        if constexpr (std::same_as<std::span<const T>, std::remove_cvref_t<decltype(elements)>>) others = elements;
      });
      if (tensors_[f.first].element_bytes != sizeof(T))
        throw layout_error("syncopate: the factors of layer " + std::to_string(f.layer.layer) +
                           " have another element type than its weights");
      const detail::factor_pair<T> own = detail::pair_of<T>(f.layer, rows, others);
      auto& lane = lane_of<T>();
      if (f.travels())
        lane.buckets[f.place].give(own);
      else
        form_product(lane, f, own);
    });
  }

  void give_no_factors(const detail::factored& f) {
    for_each_lane([&](auto& lane) {
      using T = typename std::remove_reference_t<decltype(lane)>::element;
      if (tensors_[f.first].element_bytes == sizeof(T)) lane.buckets[f.place].give({});
    });
  }

  template <class T>
  void form_product(detail::lane<T, C, A>& lane, const detail::factored& f, const detail::factor_pair<T>& own) {
    const std::span<T> all = lane.products[f.place].elements();
    const std::span<T> matrix = all.first(f.layer.inputs * f.layer.outputs), bias = all.subspan(matrix.size());
    options_.product(product_of_factors<T>{own.activations.data(), own.errors.data(), matrix.data(), own.rows,
                                           f.layer.inputs, f.layer.outputs, false});
    std::ranges::fill(bias, T(0));
    for (std::size_t i = 0; !bias.empty() && i < own.errors.size(); ++i) bias[i % f.layer.outputs] += own.errors[i];
    for (std::size_t tensor = f.first; tensor < f.first + f.tensors; ++tensor) {
      lane.readable[positions_[tensor]] = tensor == f.first ? matrix : bias;
      disjoint_.forget(tensor, false);
    }
  }

  /// Makes room for gradients that are formed of factors here.
  template <class T>
  void make_products(detail::lane<T, C, A>& lane) {
    for (detail::factored& f : factored_) {
      if (f.travels() || tensors_[f.first].element_bytes != sizeof(T)) continue;
      f.place = lane.products.size();
      lane.products.emplace_back(f.layer.inputs * f.layer.outputs + (f.has_bias() ? f.layer.outputs : 0));
    }
  }

  /// Makes room for the longest gradient that may be missing.
  template <class T>
  void make_zeros(detail::lane<T, C, A>& lane) {
    std::size_t most = 0;
    for (const auto& layer : layers_.all())
      for (std::size_t tensor = layer.first; layer.optional && tensor < layer.first + layer.tensors; ++tensor)
        if (tensors_[tensor].element_bytes == sizeof(T)) most = std::max<std::size_t>(most, tensors_[tensor].size);
    lane.zeros = detail::buffer<T>(most);
  }

  /// A bucket's element type and its number among those of that type.
  struct place {
    std::size_t lane, bucket;
  };

  /// Buckets of all element types leave in the order in which backward completes them.
  void order_buckets() {
    std::vector<std::vector<std::size_t>> tensors_in;  // numbers in the model
    std::size_t lane_number = 0;
    for_each_lane([&](auto& lane) {
      using T = typename std::remove_reference_t<decltype(lane)>::element;
      std::vector<std::size_t> numbers;
      for (std::size_t tensor = 0; tensor < tensors_.size(); ++tensor)
        if (tensors_[tensor].element_bytes == sizeof(T)) numbers.push_back(tensor);
      for (std::size_t bucket = 0; bucket < lane.buckets.size(); ++bucket) {
        order_.push_back({lane_number, bucket});
        std::vector<std::size_t>& in = tensors_in.emplace_back();
        for (const detail::piece& p : lane.buckets[bucket].pieces()) in.push_back(numbers[p.tensor]);
      }
      ++lane_number;
    });
    std::vector<place> order;
    for (const std::size_t i : detail::order_of_departure(tensors_in)) {
      order.push_back(order_[i]);
      layers_.add_bucket(tensors_in[i]);
    }
    order_ = std::move(order);
    landed_.assign(order_.size(), true);
  }

  /// What has to hold for a step to begin.
  template <class W>
  void prepare(const char* call, W&& weights, double samples) {
    state_.require_running(call);
    state_.require_no_open_step(call);
    if (!(samples >= 0) || !std::isfinite(samples))
      throw usage_error("syncopate: samples must be a finite number of at least 0, but is " + std::to_string(samples));
    validate();
    bind_weights(weights);
  }

  void begin(detail::calls call, double samples) {
    const bool launches = delay_.launches(clock_);
    const bool checks = options_.non_finite_gradients != non_finite::ignore;
    now_ = {.step = clock_,
            .call = call,
            .samples = samples,
            .loss = std::exchange(loss_, 0),
            .squares = {},
            .observes = observes(),
            .check = checks && (launches || ranks_differ),
            .at_fault = at_fault_,
            .at_once = false,
            .moves = true,
            .launches = launches};
    departed_ = 0;
    layers_.expect_gradients();
  }

  /// Whether norms of gradients are.
  bool observes() const { return options_.observes_gradients || detail::observes_gradients<D>; }

  bool clips_after() const { return options_.clips() && options_.clip == clipping::after_averaging; }
  bool clips_before() const { return options_.clips() && options_.clip == clipping::before_averaging; }

  /// Whether a bucket can leave before all gradients are there.
  bool may_leave_early() const { return !ranks_differ && !clips_before() && now_.launches && now_.samples > 0; }

  /// Lets go what is ready, in order.
  void depart(bool moves, bool clipped) {
    for (; departed_ < order_.size() && layers_.is_ready(departed_); ++departed_) {
      land(departed_);
      visit_bucket(departed_, [&](auto& bucket, auto& lane) {
        detail::departure part = now_;
        part.moves = moves && now_.moves;
        naming(now_.step, departed_, [&] {
          const bool finite = bucket.leave(averaging_, communicator_, part, lane.weights,
                                           clipped ? lane.clipped_readable : lane.readable, measured_);
          now_.at_fault = now_.at_fault || !finite;  // the last bucket speaks for all
          now_.squares = part.squares;
        });
      });
    }
  }

  /// All gradients are there: what has not left yet leaves, and the clock that all ranks share advances. What is due
  /// has to land then.
  void close(bool at_once) {
    settle();
    const auto due_now = [&](std::int64_t launched) { return delay_.due(launched, clock_); };
    const bool launches = now_.launches;
    bool clipped = false;
    now_.at_once = at_once;
    if (now_.samples > 0) {
      if constexpr (ranks_differ)
        if (now_.check && !gradients_are_finite()) {
          now_.moves = false;
          ++measured_.taken.skipped;
          now_.at_fault = at_fault_ = at_fault_ || options_.non_finite_gradients == non_finite::refuse;
        }
      clipped = clips_before() && clip_gradients();
    }
    if (ranks_differ && now_.launches && any_due(due_now)) {
      // A snapshot contains the mean that is merged at the same step: else what the merge has just removed would be
      // averaged, and removed, once more, and the delta merge would not bring ranks together.
      now_.launches = false;
      depart(true, clipped);
      expect_landing();
      settle();
      now_.launches = launches;
      departed_ = 0;
      depart(false, clipped);
    } else {
      depart(true, clipped);
    }
    if (now_.launches) {
      at_fault_ = false;
      if (now_.call == detail::calls::step) ++measured_.taken.launched;
    }
    if (now_.call == detail::calls::step) ++measured_.taken.steps;
    expect_landing();
    state_.end_step();
    ++clock_;
  }

  /// What is due at the clock's step is to land from now on.
  void expect_landing() {
    landing_ = clock_;
    ends_ = false;
    landing_averaging_ = averaging_;
    known_.clear();
    landed_.assign(order_.size(), false);
    handed_out_ = order_.size();
    layers_.expect_forward();
  }

  /// Which messages, by the step at which they left, are to land.
  auto due() const {
    return [this](std::int64_t launched) { return ends_ || delay_.due(launched, landing_); };
  }

  /// Lands what is left of what is due.
  void settle() {
    for (std::size_t bucket = 0; bucket < order_.size(); ++bucket) land(bucket);
    layers_.make_all_current();
  }

  /// Throws what a mean that was not absorbed is to be refused with.
  void refuse() {
    if (refused_ < 0) return;
    settle();
    const std::int64_t message = std::exchange(refused_, -1);
    for (std::size_t number = 0; number < order_.size(); ++number) {
      int rank = -1;
      visit_bucket(number, [&](auto& bucket, auto&) { rank = bucket.headers(message).not_finite_rank; });
      if (rank >= 0)
        throw non_finite_error("syncopate: what rank " + std::to_string(rank) + " contributed to " +
                               detail::text_of_message(step_of(number, message), number, order_.size()) +
                               " is not finite");
    }
  }

  /// A step of a rank that has nothing left to do. Whether no rank has.
  bool tick_of_join() {
    begin(detail::calls::join, 0);
    layers_.give_all();
    close(delay_.due(clock_, clock_));
    ends_ = now_.launches && all_have_joined();
    const bool over = ends_;
    settle();
    refuse();
    return over;
  }

  /// Whether all ranks have sent the newest message from `join`.
  bool all_have_joined() {
    bool all = true;
    std::size_t number = 0;
    for_each_bucket([&](auto& bucket, auto&) {
      all =
          naming(clock_, number++, [&] { return bucket.receive(bucket.messages().first - 1, measured_).all_joined; }) &&
          all;
    });
    return all;
  }

  bool gradients_are_finite() {
    bool finite = true;
    for_each_lane([&](auto& lane) {
      detail::finiteness<typename std::remove_reference_t<decltype(lane)>::element> seen;
      for (const auto gradient : lane.readable) seen.look_at(gradient.data(), gradient.size());
      finite = finite && seen.all_finite();
    });
    return finite;
  }

  /// Scales this rank's gradients down, if they are too large. Whether they were.
  bool clip_gradients() {
    double sum = 0;
    for_each_lane([&](auto& lane) {
      for (const auto gradient : lane.readable) sum += detail::sum_of_squares(gradient);
    });
    const double norm = std::sqrt(sum);
    if (!(norm > options_.largest_norm) || !std::isfinite(norm)) return false;
    for_each_lane([&](auto& lane) {
      using T = typename std::remove_reference_t<decltype(lane)>::element;
      const auto factor = static_cast<T>(options_.largest_norm / norm);
      for (std::size_t t = 0; t < lane.readable.size(); ++t) {
        const T* const gradient = lane.readable[t].data();
        T* const clipped = lane.clipped[t].data();
        detail::for_each_element(lane.readable[t].size(),
                                 [=](std::size_t i) SYNCOPATE_INLINE_LAMBDA { clipped[i] = gradient[i] * factor; });
      }
    });
    return true;
  }

  template <class Due>
  bool any_due(Due due) {
    bool any = false;
    for_each_bucket([&](auto& bucket, auto&) { any = any || bucket.any_due(due); });
    return any;
  }

  /// Absorbs what is due of one bucket, if that has not been done yet, and leaves the result in the user's tensors.
  void land(std::size_t number) {
    if (landed_[number]) return;
    landed_[number] = true;
    if constexpr (sharded) {
      while (handed_out_ > number) hand_out();
      end_gather(number);
    } else {
      absorb(number);
    }
    take_signal();
  }

  /// Once all buckets have landed: what is known of the newest mean.
  void take_signal() {
    if (signalled_ < 0 || std::ranges::find(landed_, false) != landed_.end()) return;
    const std::int64_t message = std::exchange(signalled_, -1);
    double squares = 0;
    for (std::size_t number = 0; number < order_.size(); ++number)
      visit_bucket(number, [&](auto& bucket, auto&) {
        squares += bucket.squares_of_sum(message);
        if (number + 1 < order_.size()) return;
        const detail::agreed_headers said = bucket.headers(message);
        signal_ = {bucket.step_of(message), said.samples,        said.contributors,   said.loss, 0,
                   said.squares.all,        said.squares.latest, said.squares.earlier};
      });
    signal_.square_of_mean = squares / (signal_.samples * signal_.samples);
    if constexpr (adapts) delay_.observe(std::as_const(signal_));
  }

  /// Where ranks share the work: absorbs what is due of the next bucket, and starts to hand out this rank's part of its
  /// weights, for each message. What left last, and is likely to be needed first, comes first: all ranks have the same
  /// order.
  void hand_out() {
    const std::size_t number = --handed_out_;
    visit_bucket(number, [&](auto& bucket, auto& lane) {
      while (bucket.any_due(due())) {
        end_gather(number);  // of the message before
        absorb_next(number, bucket, lane);
        naming(bucket.step_of(bucket.messages().second - 1), number, [&] { bucket.start_gather(communicator_); });
      }
    });
  }

  /// The same for all buckets whose turn it is, as long as nothing has to be waited for.
  void hand_out_what_is_there() {
    if constexpr (sharded)
      for (bool there = true; there && handed_out_ > 0;) {
        visit_bucket(handed_out_ - 1, [&](auto& bucket, auto&) {
          there = !bucket.any_due(due()) ||
                  (!bucket.any_due(due(), 1) && !clips_after() && bucket.has_landed(bucket.messages().second));
        });
        if (there) hand_out();
      }
  }

  /// Waits for all ranks' parts of a bucket, if they are being handed out.
  void end_gather(std::size_t number) {
    visit_bucket(number, [&](auto& bucket, auto& lane) {
      if (bucket.gathers())
        naming(bucket.step_of(bucket.messages().second - 1), number,
               [&] { bucket.end_gather(lane.weights, measured_); });
    });
  }

  /// Absorbs what is due of one bucket.
  void absorb(std::size_t number) {
    visit_bucket(number, [&](auto& bucket, auto& lane) {
      while (bucket.any_due(due())) absorb_next(number, bucket, lane);
      bucket.look_ahead_again(landing_averaging_, landing_, lane.weights);
    });
  }

  template <class Bucket, class Lane>
  void absorb_next(std::size_t number, Bucket& bucket, Lane& lane) {
    const std::int64_t message = bucket.messages().second;
    receive(number, message);
    const mean_facts mean = facts_of(message);
    const bool counts = bucket.absorb(landing_averaging_, landing_, mean.samples, mean.shrink, mean.usable, observes(),
                                      due(), lane.weights);
    if (mean.usable && mean.samples > 0) signalled_ = std::max(signalled_, message);
    if (number + 1 < order_.size()) return;
    if (counts) ++measured_.taken.absorbed;
    if (!mean.usable && options_.non_finite_gradients == non_finite::skip) ++measured_.taken.skipped;
  }

  /// What is known of a message that has landed.
  struct mean_facts {
    std::int64_t message;  ///< its number
    double samples;        ///< that all ranks contributed
    double shrink;         ///< what the mean is to be multiplied by
    bool usable;
  };

  /// What has to be known of a message before any bucket of it is absorbed: whether all ranks sent the same, and a
  /// gradient, and how large it is. The bucket that left last says all but the last: it left when everything was known.
  mean_facts facts_of(std::int64_t message) {
    for (const mean_facts& known : known_)
      if (known.message == message) return known;
    std::size_t last = order_.size() - 1;
    const detail::agreed_headers said = receive(last, message);
    mean_facts mean{message, said.samples, 1, said.not_finite_rank < 0};
    if (!mean.usable && options_.non_finite_gradients == non_finite::refuse && refused_ < 0) refused_ = message;
    if (mean.usable && said.samples > 0 && clips_after()) {
      double sum = 0;
      for (std::size_t number = 0; number < order_.size(); ++number) {
        receive(number, message);
        visit_bucket(number, [&](auto& bucket, auto&) { sum += bucket.sum_of_squares_received(message); });
      }
      if constexpr (sharded) sum = detail::total(communicator_, sum);
      const double norm = std::sqrt(sum) / said.samples;
      if (norm > options_.largest_norm) mean.shrink = options_.largest_norm / norm;
    }
    known_.push_back(mean);
    return mean;
  }

  /// Waits for a message of a bucket. Returns what ranks said with it.
  detail::agreed_headers receive(std::size_t number, std::int64_t message) {
    detail::agreed_headers said;
    visit_bucket(number, [&](auto& bucket, auto&) {
      naming(bucket.step_of(message), number, [&] { said = bucket.receive(message, measured_); });
    });
    return said;
  }

  std::int64_t step_of(std::size_t number, std::int64_t message) {
    std::int64_t step = 0;
    visit_bucket(number, [&](auto& bucket, auto&) { step = bucket.step_of(message); });
    return step;
  }

  /// Does what sends or receives a message; a stall is told with the message's step and bucket.
  template <class Work>
  auto naming(std::int64_t step, std::size_t bucket, Work work) {
    try {
      return work();
    } catch (const stalled& stall) {
      throw stalled("syncopate: the message of " + detail::text_of_message(step, bucket, order_.size()) +
                    " has not landed: " + std::string(detail::without_prefix(stall.what())));
    }
  }

  /// Writes the consensus of the readable tensors to the writable ones.
  void agree_on_weights() {
    if constexpr (ranks_differ) {
      for_each_bucket([&](auto& bucket, auto& lane) {
        bucket.take_mean_of_ranks(communicator_, clock_, lane.readable, lane.weights);
      });
    } else if constexpr (predicts_ahead) {
      for_each_bucket([](auto& bucket, auto& lane) {
        for (const detail::piece& p : bucket.pieces())
          std::ranges::copy(bucket.weights_of(p), lane.weights[p.tensor].begin());
      });
    } else {
      for_each_lane([](auto& lane) {
        for (std::size_t t = 0; t < lane.weights.size(); ++t)
          if (lane.weights[t].data() != lane.readable[t].data())
            std::ranges::copy(lane.readable[t], lane.weights[t].begin());
      });
    }
  }

  C communicator_;
  D delay_;
  A averaging_;
  std::vector<detail::tensor_facts> tensors_;
  std::vector<std::size_t> positions_;  ///< of each tensor among those of its element type
  detail::disjointness disjoint_;
  lanes lanes_;
  detail::layers layers_;
  detail::factored_layers factored_;
  std::vector<place> order_;  ///< of buckets, as they leave
  detail::measurement measured_;
  scheme_options options_;
  std::uint64_t scheme_ =
      detail::hash_of(typeid(A).name(), detail::hash_of(typeid(D).name(), detail::hash_of(typeid(Elements).name())));
  std::uint64_t schedule_ = 0;  ///< hash of what the delay policy decides
  std::int64_t clock_ = 0;      ///< the number of the next step, the same on all ranks
  // The step that is being made.
  detail::departure now_{};   ///< what leaves
  std::size_t departed_ = 0;  ///< buckets that have left
  // What is due, and lands bucket by bucket.
  std::int64_t landing_ = 0;          ///< the step at which it was due
  bool ends_ = false;                 ///< whether everything in flight is
  A landing_averaging_ = averaging_;  ///< with the hyper-parameters in force then
  std::vector<bool> landed_;          ///< for each bucket
  std::vector<mean_facts> known_;
  std::size_t handed_out_ = 0;   ///< where ranks share the work: buckets from this one on have been
  bool at_fault_ = false;        ///< whether a local move was left out that the other ranks do not know of yet
  double loss_ = 0;              ///< of the next mini-batch
  std::int64_t signalled_ = -1;  ///< the newest message absorbed of whose mean `signal_` does not tell yet
  training_signal signal_;
  std::int64_t refused_ = -1;  ///< the first message that was not absorbed and has to be told of, if any
  detail::scheme_state state_;
  int exceptions_ = std::uncaught_exceptions();
};

#undef SYNCOPATE_CHECK_ROLE
#undef SYNCOPATE_CHECK_MODEL

template <class W, class C, class D, class A>
update_scheme(W&&, C, D, A) -> update_scheme<typename detail::elements_if_model<W>::type, C, D, A>;
template <class W, class C, class D, class A>
update_scheme(W&&, C, D, A, const scheme_options&)
    -> update_scheme<typename detail::elements_if_model<W>::type, C, D, A>;

}  // namespace syncopate
