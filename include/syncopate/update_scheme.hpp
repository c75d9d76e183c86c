#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <iterator>
#include <span>
#include <string>
#include <tuple>
#include <type_traits>
#include <typeinfo>
#include <utility>
#include <vector>

#include "concepts.hpp"
#include "detail/agreement.hpp"
#include "detail/bucket.hpp"
#include "detail/layout.hpp"
#include "detail/measurement.hpp"
#include "detail/roles.hpp"
#include "error.hpp"
#include "memory_report.hpp"
#include "statistics.hpp"
#include "tensor.hpp"
#include "version.hpp"

namespace syncopate {

/// Tensors travel together until a message has this many bytes; a larger tensor travels alone.
inline constexpr std::size_t default_bucket_bytes = std::size_t{25} << 20;

namespace detail {

/// Everything of one element type.
template <class T, class C, class A>
struct lane {
  using element = T;
  std::vector<bucket<T, C, A>> buckets;
  std::vector<std::span<T>> weights;         ///< the user's tensors in the newest call
  std::vector<std::span<const T>> readable;  ///< likewise: gradients, or weights that are only read
};

template <class Elements, class C, class A>
struct lanes {
  using type = std::tuple<lane<Elements, C, A>>;
};
template <class... T, class C, class A>
struct lanes<std::tuple<T...>, C, A> {
  using type = std::tuple<lane<T, C, A>...>;
};

template <class W>
struct elements_if_model {
  using type = float;  // the constructor says what is wrong
};
template <Model W>
struct elements_if_model<W> {
  using type = elements_of<W>;
};

/// Whether a model has elements of no other types than `Elements`, writable where `Writable`.
template <class X, class Elements>
consteval bool fits() {
  if constexpr (!Model<X>)
    return false;
  else if constexpr (std::same_as<Elements, std::tuple<float, double>>)
    return true;
  else
    return !model_has<X, std::conditional_t<std::same_as<Elements, float>, double, float>>();
}

}  // namespace detail

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
/// Collective, that is, called by all ranks in the same order: the constructor, `step`, `consensus`, `finish`. Nothing
/// is allocated in `step`.
template <class Elements, class C, class D, class A>
class update_scheme {
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
    if constexpr (requires { requires detail::predictor_type<A>::looks_ahead_only; })
      static_assert(
          detail::looks_ahead<A, T>,
          "syncopate: this predictor differs between ranks, so only an averaging that looks ahead can use it: "
          "committed, it would let the ranks' weights drift apart");
    return true;
  }

  static consteval bool launches_every_step() {
    if constexpr (requires { D::launches_every_step; })
      return D::launches_every_step;
    else
      return false;
  }

 public:
  /// Collective. Fixes the layout, makes every rank start from rank 0's weights, and allocates all memory.
  ///
  /// Throws, on every rank, `configuration_error` for senseless hyper-parameters or ranks with different policies, and
  /// `layout_error` for ranks with different tensors.
  template <class W>
  update_scheme(W&& weights, C communicator, D delay, A averaging, std::size_t bucket_bytes = default_bucket_bytes)
      : communicator_(communicator.duplicate()), delay_(std::move(delay)), averaging_(std::move(averaging)) {
    check_types();
    check_model<W>();
    detail::scheme_facts facts{};
    facts.version = version;
    facts.bucket_bytes = bucket_bytes;
    facts.scheme =
        detail::hash_of(typeid(A).name(), detail::hash_of(typeid(D).name(), detail::hash_of(typeid(Elements).name())));
    try {
      validate();
      facts.most_in_flight = delay_.most_in_flight();
      facts.schedule = detail::schedule_of(delay_);
      for_each_tensor(weights, [&](auto elements) {
        using T = typename decltype(elements)::value_type;
        tensors_.push_back({elements.size(), sizeof(T)});
        positions_.push_back(lane_of<T>().weights.size());
        lane_of<T>().weights.emplace_back();
        lane_of<T>().readable.emplace_back();
      });
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
      make_buckets(lane, facts.most_in_flight, bucket_bytes);
    });
  }

  update_scheme(update_scheme&&) = default;
  update_scheme& operator=(update_scheme&&) = delete;

  /// Collective. One step of training: hands in this rank's mini-batch mean gradient, and leaves in `weights` what the
  /// next gradient is to be computed at. The gradient may be overwritten as soon as the call returns.
  ///
  /// `samples` is this rank's weight in the mean: the size of its mini-batch, in any unit that is the same on all
  /// ranks. A rank may have none; if no rank has any, nothing is absorbed. A total that is no power of two costs one
  /// more pass over the message. Hyper-parameters in force are those at the moment when a mean is absorbed.
  ///
  /// Throws `layout_error` where tensors have other sizes than at construction or share memory, `configuration_error`
  /// for hyper-parameters that make no sense any more, `usage_error` after `finish`; nothing has happened then.
  template <class W, class G>
  void step(W&& weights, G&& gradients, double samples = 1) {
    check_model<W>();
    SYNCOPATE_CHECK_MODEL(G, "gradients", "of the weights");
    if (finished_) throw usage_error("syncopate: step was called after finish: make a new scheme to go on training");
    if (!(samples >= 0) || !std::isfinite(samples))
      throw usage_error("syncopate: samples must be a finite number of at least 0, but is " + std::to_string(samples));
    validate();
    bind_weights(weights);
    bind_readable(gradients, "gradients");
    disjoint_.check();

    const std::int64_t step = measured_.taken.steps;
    const bool launches = delay_.launches(step);
    const auto due = [&](std::int64_t launched) { return delay_.due(launched, step); };
    const auto leave = [&](bool moves, bool leaves) {
      for_each_lane([&](auto& lane) {
        for (auto& bucket : lane.buckets)
          bucket.leave(averaging_, communicator_, step, moves, leaves, due(step), samples, lane.weights, lane.readable,
                       measured_);
      });
    };
    if (ranks_differ && launches && any_due(due)) {
      // A snapshot contains the mean that is merged at the same step: else what the merge has just removed would be
      // averaged, and removed, once more, and the delta merge would not bring ranks together.
      leave(true, false);
      land(step, due);
      leave(false, true);
    } else {
      leave(true, launches);
    }
    land(step, due);
    if (launches) ++measured_.taken.launched;
    ++measured_.taken.steps;
  }

  /// Gives communication a chance to progress; call it now and then during forward and backward where the communicator
  /// has no thread of its own. Not collective, never blocks.
  void poll() {
    for_each_lane([](auto& lane) {
      for (auto& bucket : lane.buckets) bucket.poll();
    });
  }

  /// Collective. Writes to `out` the model to evaluate or to save: the weights without any prediction, or, where ranks
  /// hold weights of their own, their mean. `out` is a model of the same layout, may be `weights`, and is bitwise the
  /// same on all ranks. Training goes on undisturbed.
  template <class W, class O>
  void consensus(W&& weights, O&& out) {
    check_model<W>();
    check_model<O>();
    bind_readable(weights, "weights");
    bind_weights(out);
    for_each_lane([&](auto& lane) {
      if constexpr (ranks_differ) {
        take_mean(lane);
      } else if constexpr (predicts_ahead) {
        for (auto& bucket : lane.buckets)
          for (const detail::piece& p : bucket.pieces())
            std::ranges::copy(bucket.weights_of(p), lane.weights[p.tensor].begin());
      } else {
        for (std::size_t t = 0; t < lane.weights.size(); ++t)
          if (lane.weights[t].data() != lane.readable[t].data())
            std::ranges::copy(lane.readable[t], lane.weights[t].begin());
      }
    });
  }

  /// Collective. Ends training: waits for what is in flight, absorbs it, and leaves in `weights` the consensus, bitwise
  /// the same on all ranks. Throws `usage_error` when called again.
  template <class W>
  void finish(W&& weights) {
    check_model<W>();
    if (finished_) throw usage_error("syncopate: finish was called twice");
    bind_weights(weights);
    land(measured_.taken.steps, [](std::int64_t) { return true; });
    finished_ = true;
    if constexpr (ranks_differ) consensus(weights, weights);
  }

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

  /// The channel of its own that the scheme sums on.
  const C& communicator() const { return communicator_; }

  int rank() const { return communicator_.rank(); }
  int size() const { return communicator_.size(); }

 private:
  static constexpr bool ranks_differ = detail::advances<A, typename std::tuple_element_t<0, lanes>::element>;
  static constexpr bool predicts_ahead = detail::looks_ahead<A, typename std::tuple_element_t<0, lanes>::element>;

  static constexpr void check_types() {
    static_assert(DelayPolicy<D>, "syncopate: the third argument must be a DelayPolicy; see syncopate/concepts.hpp");
    static_assert([]<class... Lane>(std::type_identity<std::tuple<Lane...>>) {
      return (complain<typename Lane::element>() && ...);
    }(std::type_identity<lanes>{}));
    static_assert(
        ranks_differ || launches_every_step(),
        "syncopate: an averaging of gradients needs a delay policy that launches at every step (fixed_delay), "
        "since a gradient of a step without a message would be lost");
  }

  template <class W>
  static constexpr void check_model() {
    SYNCOPATE_CHECK_MODEL(W, "weights", "that the scheme was made for");
  }

  void validate() const {
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

  template <class Visitor>
  void for_each_lane(Visitor visit) {
    std::apply([&](auto&... lane) { (visit(lane), ...); }, lanes_);
  }

  template <class T>
  auto& lane_of() {
    return std::get<detail::lane<T, C, A>>(lanes_);
  }

  /// Notes where the user's tensors are, if they fit the layout.
  template <bool Written, class X>
  void bind(X&& model, const char* what) {
    std::size_t number = 0;
    for_each_tensor(model, [&](auto elements) {
      using T = typename decltype(elements)::value_type;
      if (number == tensors_.size())
        throw layout_error(std::string("syncopate: there are more ") + what + " than the " +
                           std::to_string(tensors_.size()) + " tensors of the layout that was agreed at construction");
      if (disjoint_.moved(elements, number, Written)) {
        const detail::tensor_facts facts{elements.size(), sizeof(T)};
        if (facts != tensors_[number])
          throw layout_error(std::string("syncopate: ") + what + " of tensor " + std::to_string(number) + " have " +
                             facts.text() + ", but the layout that was agreed at construction has " +
                             tensors_[number].text());
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
    if (number < tensors_.size())
      throw layout_error(std::string("syncopate: there are ") + what + " of only " + std::to_string(number) +
                         " of the " + std::to_string(tensors_.size()) +
                         " tensors of the layout that was agreed at construction");
  }

  template <class W>
  void bind_weights(W&& weights) {
    bind<true>(weights, "weights");
  }

  template <class X>
  void bind_readable(X&& model, const char* what) {
    bind<false>(model, what);
  }

  /// Cuts the tensors into buckets, last tensor first: the order in which backward produces gradients. Within a bucket
  /// they keep their own order, in which they most likely lie in memory: processors fetch ahead in that direction.
  template <class T>
  void make_buckets(detail::lane<T, C, A>& lane, std::int64_t most_in_flight, std::size_t bucket_bytes) {
    std::vector<detail::piece> pieces;
    std::size_t bytes = 0;
    const auto close = [&] {
      if (pieces.empty()) return;
      std::ranges::reverse(pieces);
      lane.buckets.emplace_back(std::exchange(pieces, {}), most_in_flight);
      lane.buckets.back().start(lane.weights);
      bytes = 0;
    };
    for (std::size_t tensor = lane.weights.size(); tensor-- > 0;) {
      const std::span<T> elements = lane.weights[tensor];
      if (bytes + elements.size_bytes() > bucket_bytes) close();
      pieces.push_back({tensor, 0, elements.size(), 0});
      bytes += elements.size_bytes();
    }
    close();
  }

  template <class Due>
  bool any_due(Due due) {
    bool any = false;
    for_each_lane([&](auto& lane) {
      for (auto& bucket : lane.buckets) any = any || bucket.any_due(due);
    });
    return any;
  }

  template <class Due>
  void land(std::int64_t step, Due due) {
    for_each_lane([&](auto& lane) {
      for (auto& bucket : lane.buckets) {
        bucket.land(averaging_, step, due, lane.weights, measured_);
        measured_.taken.absorbed = bucket.absorbed();  // the same for all of them
      }
    });
  }

  /// Collective. Writes the mean over ranks of the readable tensors to the writable ones.
  template <class T>
  void take_mean(detail::lane<T, C, A>& lane) {
    std::vector<T> all;
    for (auto elements : lane.readable) all.insert(all.end(), elements.begin(), elements.end());
    communicator_.start_sum(std::span<T>(all)).wait();
    auto from = all.begin();
    for (auto elements : lane.weights)
      for (T& weight : elements) weight = *from++ / T(communicator_.size());
  }

  C communicator_;
  D delay_;
  A averaging_;
  std::vector<detail::tensor_facts> tensors_;
  std::vector<std::size_t> positions_;  ///< of each tensor among those of its element type
  detail::disjointness disjoint_;
  lanes lanes_;
  detail::measurement measured_;
  bool finished_ = false;
};

#undef SYNCOPATE_CHECK_ROLE
#undef SYNCOPATE_CHECK_MODEL

template <class W, class C, class D, class A>
update_scheme(W&&, C, D, A) -> update_scheme<typename detail::elements_if_model<W>::type, C, D, A>;
template <class W, class C, class D, class A>
update_scheme(W&&, C, D, A, std::size_t) -> update_scheme<typename detail::elements_if_model<W>::type, C, D, A>;

}  // namespace syncopate
