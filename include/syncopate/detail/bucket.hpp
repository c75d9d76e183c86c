#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "../concepts.hpp"
#include "../error.hpp"
#include "../memory_report.hpp"
#include "archive.hpp"
#include "block_header.hpp"
#include "buffer.hpp"
#include "elementwise.hpp"
#include "factors.hpp"
#include "finite.hpp"
#include "header.hpp"
#include "measurement.hpp"
#include "roles.hpp"
#include "transfer.hpp"

#if defined(__clang__)
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wpass-failed"  // a formula that cannot be vectorised is no fault
#endif

namespace syncopate::detail {

/// One message of a bucket, from its launch until its memory is needed again.
template <class T, class R>
struct message {
  buffer<T> sum;           ///< contributions, then their sum over ranks; headers of all ranks at the end, or of each
                           ///< block at its end
  T scale = T(1);          ///< of the sum, once it has landed: scale * sum is the mean
  buffer<T> own;           ///< what this rank contributed, where a policy keeps it
  buffer<T> weights_then;  ///< weights at the launch, where a policy keeps them
  buffer<T> gathered, exchanged;  ///< factors, where they travel in place of the gradient
  transfer<R> sent, sent_apart;   ///< the message; of factors, also those that ranks exchange
  header said;                    ///< by this rank
  double squares_of_sum = 0;      ///< of what this rank keeps up to date, where that is observed
  /// By all ranks: as far as it is known once the sum has been received, and, where they share the work, once the
  /// weights that it has led to have been gathered.
  std::optional<agreed_headers> received, gathered_headers;
};

/// What a rank does in one tick of the clock that all ranks share.
struct departure {
  std::int64_t step;
  calls call;
  double samples;            ///< 0: the gradient is not looked at, and the rank contributes zeros
  double loss;               ///< of the mini-batch
  observed_squares squares;  ///< of what has left before
  bool observes;             ///< whether these are wanted
  bool check;                ///< whether contributions are looked at for infinities and NaN
  bool at_fault;             ///< whether a local move was left out for one
  bool at_once;              ///< whether the message is due at the same step
  bool moves;                ///< whether the local move happens in this call, if the averaging has one
  bool launches;             ///< whether the message leaves in this call
};

/// What this rank has put into the message that leaves next.
struct collected {
  std::int64_t steps = 0;  ///< in which it had samples
  double samples = 0;      ///< of them all
  double loss = 0;         ///< their mean

  void add(double more, double of_loss) {
    ++steps;
    samples += more;
    loss += (of_loss - loss) * (more / samples);
  }
};

/// A tensor's place in its bucket, or, where ranks share the work, that of a part of it in one rank's block.
struct piece {
  std::size_t tensor;           ///< its number among the tensors of this element type
  std::size_t size;             ///< number of elements
  std::size_t from = 0;         ///< the first of the tensor's elements
  std::size_t offset = 0;       ///< where its elements begin in a message
  std::size_t first_group = 0;  ///< where its groups of observed sums begin
};

/// Tensors that travel together, everything that the engine keeps for them, and the loops that run over it.
template <class T, class C, class A>
class bucket {
  static constexpr bool sharded = shards<A>;
  using request = decltype(std::declval<C&>().start_sum(std::span<T>()));  // of sums' halves, too
  using slot = message<T, request>;
  using P = predictor_type<A>;
  using U = rule_type<A>;
  using L = local_rule_type<A>;
  using M = merge_type<A>;
  static constexpr std::size_t terms = observed_terms<P, T>;
  static constexpr bool predicts_ahead = looks_ahead<A, T>;
  static constexpr bool keeps_true_weights = predicts_ahead || sharded;

 public:
  /// `most_in_flight` messages can be in flight between two steps.
  /// With `of_layer` the tensors are those of a layer whose factors travel, and `product` multiplies them.
  bucket(std::span<const piece> tensors, std::int64_t most_in_flight, int rank, int ranks, bool observes,
         std::optional<factors> of_layer = {}, const matrix_product& product = {})
      : ranks_(ranks),
        header_(observes ? observing_header_elements : header_elements),
        factors_(std::move(of_layer)),
        product_(product) {
    shared_ = sharded && !(factors_ && !factors_->sharded());
    std::size_t elements = 0;
    for (const piece& tensor : tensors) elements += tensor.size;
    const std::size_t blocks = shared_ ? static_cast<std::size_t>(ranks) : 1;
    const std::size_t own = shared_ ? static_cast<std::size_t>(rank) : 0;
    size_ = factors_ ? factors_->part() : (elements + blocks - 1) / blocks;
    stride_ = size_ + (shared_ ? header_ + block_sums : header_ * static_cast<std::size_t>(ranks));
    first_ = own * stride_;
    std::size_t groups = 0;
    const auto add = [&](std::size_t block, piece p) {
      p.first_group = groups;
      pieces_.push_back(p);
      if (block != own) return;
      own_pieces_.push_back(p);
      groups += (p.size + chunk_length - 1) / chunk_length;
    };
    if (factors_)
      cut_by_rows(tensors, blocks, add);
    else
      cut(tensors, blocks, add);
    const auto make_vectors = [&](auto& vectors) {
      for (auto& vector : vectors) vector = buffer<T>(size_);
    };
    make_vectors(predictor_state_);
    make_vectors(rule_state_);
    make_vectors(local_rule_state_);
    make_vectors(merge_state_);
    if constexpr (terms > 0) scalars_.resize(groups);
    if constexpr (keeps_true_weights) weights_ = buffer<T>(size_);
    ring_.resize(static_cast<std::size_t>(most_in_flight) + 1);
    for (slot& m : ring_) {
      m.sum = buffer<T>(blocks * stride_);
      if constexpr (any_keeps_own<A>) m.own = buffer<T>(sharded ? m.sum.size() : size_);
      if constexpr (any_keeps_weights<A>) m.weights_then = buffer<T>(sharded ? m.sum.size() : size_);
      if (!factors_) continue;
      m.gathered = buffer<T>(factors_->gathered());
      m.exchanged = buffer<T>(factors_->exchanged());
    }
    prepared_rules_.reserve(ring_.size());
    taken_.bytes = ring_[0].sum.elements().size_bytes();
    if (factors_)
      taken_.bytes = ring_[0].gathered.elements().size_bytes() + ring_[0].exchanged.elements().size_bytes() +
                     (shared_ ? taken_.bytes : 0);
  }

  bucket(bucket&&) = default;
  bucket& operator=(bucket&&) = default;

  /// Memory that a transport may still write to is given up, not freed.
  ~bucket() {
    const bool gathered = gather_.complete();
    for (slot& m : ring_)
      if (const bool sent = m.sent.complete(), apart = m.sent_apart.complete(); !gathered || !sent || !apart)
        abandon(m);
  }

  /// Takes this rank's factors of a mini-batch, for the message that leaves next.
  void give(const factor_pair<T>& own) { given_ = own; }

  std::span<const piece> pieces() const { return pieces_; }
  std::int64_t in_flight() const { return launched_ - absorbed_; }
  /// How many have left, and how many have been absorbed.
  std::pair<std::int64_t, std::int64_t> messages() const { return {launched_, absorbed_}; }
  /// At which a message left that has not been absorbed yet.
  std::int64_t step_of(std::int64_t message) { return at(message).said.step; }
  const bucket_statistics& taken() const { return taken_; }

  /// Adds what the bucket keeps.
  void add_to(memory_report& kept) const {
    const auto bytes = [](const auto& vectors) {
      std::size_t sum = 0;
      for (const buffer<T>& vector : vectors) sum += vector.elements().size_bytes();
      return sum;
    };
    for (const slot& m : ring_)
      for (const buffer<T>* vector : {&m.sum, &m.own, &m.weights_then, &m.gathered, &m.exchanged})
        kept.messages += vector->elements().size_bytes();
    kept.weights += weights_.elements().size_bytes();
    kept.predictor += bytes(predictor_state_);
    kept.rule += bytes(rule_state_);
    kept.local_rule += bytes(local_rule_state_);
    kept.merge += bytes(merge_state_);
  }

  /// The true weights, where the averaging looks ahead.
  std::span<const T> weights_of(const piece& p) const { return {weights_.data() + p.offset, p.size}; }

  /// Takes the weights to start from.
  void start(std::span<const std::span<T>> weights) {
    if constexpr (keeps_true_weights)
      for (const piece& p : own_pieces_)
        std::ranges::copy(weights[p.tensor].subspan(p.from, p.size), weights_.data() + (p.offset - first_));
  }

  /// Whether some message is in flight, after `others`, that `due(launch step)` says has to be absorbed.
  template <class Due>
  bool any_due(Due due, std::int64_t others = 0) {
    return in_flight() > others && due(at(absorbed_ + others).said.step);
  }

  /// The local move of one step, and the message. Where a step has no message, what it contributes is added to the next
  /// one, unless each rank's weights have moved by it already. Reads gradients, which may be overwritten afterwards.
  /// Not inlined, as `absorb`: what a compiler has to say of formulas' loops it says of this header, not of a user's
  /// function. Whether the contribution was finite, as far as it was looked at.
  SYNCOPATE_NEVER_INLINE bool leave(const A& averaging, C& communicator, departure& now,
                                    std::span<const std::span<T>> weights,
                                    std::span<const std::span<const T>> gradients, measurement& measured) {
    const bool moves = advances<A, T> && now.moves && now.samples > 0;
    if (advances<A, T> && !moves && !now.launches) return true;
    if (now.launches && in_flight() == static_cast<std::int64_t>(ring_.size()))
      throw usage_error("syncopate: more messages are in flight than the delay policy's most_in_flight() allows");
    slot& out = at(launched_);
    finiteness<T> seen;
    const bool observes = now.launches && now.observes;
    const double earlier = observes && collected_.steps > 0 ? sum_of_squares_sent(out) : 0;
    if (now.samples > 0) {
      if (factors_)
        pack(now, out, seen);
      else if (collected_.steps > 0)
        add(averaging, static_cast<T>(now.samples), weights, gradients, out);
      else
        depart(averaging, moves, now, weights, gradients, out, seen);
      collected_.add(now.samples, now.loss);
    }
    if (moves) ++advanced_;
    const collected sent = advances<A, T> || now.launches ? std::exchange(collected_, {}) : collected{};
    if (!now.launches) return true;
    if (now.check && sent.steps > (now.samples > 0 ? 1 : 0)) look_at_all(out, seen);
    const bool contributes = sent.steps > 0 && seen.all_finite();
    if (!contributes) contribute_nothing(averaging, weights, out);
    out.said = {now.step, now.call, seen.all_finite() && !now.at_fault};
    if (contributes) {
      out.said.samples = sent.samples / static_cast<double>(sent.steps);
      out.said.loss = sent.loss;
      if (observes) observe(now, sent, earlier, gradients, out);
      out.said.squares = now.squares;
    }
    write_header(out, communicator.rank(), out.said);
    out.received.reset();
    out.gathered_headers.reset();
    try {
      start(communicator, out, now.at_once);
    } catch (...) {
      abandon(out);
      throw;
    }
    ++launched_;
    measured.taken.bytes += taken_.bytes;
    return seen.all_finite();
  }

  /// Waits for a message in flight. Returns what ranks said with it.
  agreed_headers receive(std::int64_t message, measurement& measured) {
    slot& m = at(message);
    wait(m, measured);
    return read_received(m);
  }

  /// Of the mean in a message that has been received, times the number of samples; where ranks share the work, of this
  /// rank's part of it.
  double sum_of_squares_received(std::int64_t message) {
    return sum_of_squares(std::span<const T>(at(message).sum.elements().subspan(first_, size_)));
  }

  /// Absorbs the mean of the oldest message, which has been received; `samples` of all ranks went into it. If there are
  /// none, or it is not `usable`, there is no mean. It is scaled by `shrink`. `due` says which of the next ones follow.
  /// Whether it was one of `step`, not of `join`.
  template <class Due>
  SYNCOPATE_NEVER_INLINE bool absorb(const A& averaging, std::int64_t step, double samples, double shrink, bool usable,
                                     bool observes, Due due, std::span<const std::span<T>> weights) {
    slot& m = at(absorbed_);
    m.squares_of_sum = observes ? sum_of_squares_received(absorbed_) : 0;
    const bool empty = samples == 0 || !usable;
    if (empty) {
      std::ranges::fill(m.sum.elements().subspan(first_, size_), T(0));
      m.scale = T(1);
    } else {
      take_mean(m, T(samples), T(shrink));
      ++updates_;
    }
    ++absorbed_;
    seen_ = launched_;
    outdated_ = empty || any_due(due);
    if (!empty) arrive<true>(averaging, step, weights, !outdated_);
    return m.said.call == calls::step;
  }

  /// Where ranks share the work: hands out this rank's part of the weights that the message absorbed last has led to,
  /// in the memory of that message.
  void start_gather(C& communicator) {
    slot& m = at(absorbed_ - 1);
    gathers_ = true;
    if (!shared_) return;
    const std::span<T> own = m.sum.elements().subspan(first_, stride_);
    std::ranges::copy(weights_.elements(), own.begin());
    write_gathered_header(own.subspan(size_), m.said, *m.received, m.squares_of_sum);
    try {
      gather_.start([&] { return std::optional(communicator.start_all_gather(m.sum.elements())); });
    } catch (...) {
      abandon(m);
      throw;
    }
  }

  /// Whether ranks hand out their parts of the weights.
  bool gathers() const { return gathers_; }

  /// Waits for all ranks' parts, and leaves them in the user's tensors.
  void end_gather(std::span<const std::span<T>> weights, measurement& measured) {
    const slot& m = at(absorbed_ - 1);
    gather_.wait(m.said.call == calls::step, measured, taken_);
    headers(absorbed_ - 1);  // for what it throws
    gathers_ = false;
    const T* const all = shared_ ? m.sum.data() : weights_.data();
    for (const piece& p : pieces_) std::copy_n(all + p.offset, p.size, weights[p.tensor].data() + p.from);
  }

  /// What all ranks said with a message that has been absorbed.
  agreed_headers headers(std::int64_t message) {
    slot& m = at(message);
    if (!shared_) return read_received(m);
    if (!m.gathered_headers)
      m.gathered_headers = read_gathered_headers(std::span<const T>(m.sum.elements().subspan(size_)), header_, stride_,
                                                 ranks_, m.said.step);
    return *m.gathered_headers;
  }

  /// The sum of squares of the sum that came with it, if it was observed.
  double squares_of_sum(std::int64_t message) {
    const slot& m = at(message);
    if (!shared_) return m.squares_of_sum;
    if constexpr (sharded)
      return read_squares_of_sum(std::span<const T>(m.sum.elements().subspan(size_)), header_, stride_, ranks_);
    else
      return m.squares_of_sum;
  }

  /// Leaves in the user's tensors what the averaging wants there, if that is not there yet.
  SYNCOPATE_NEVER_INLINE void look_ahead_again(const A& averaging, std::int64_t step,
                                               std::span<const std::span<T>> weights) {
    const bool missing = std::exchange(seen_, launched_) < launched_;  // a prediction, of a message in flight
    if constexpr (predicts_ahead)
      if (missing || outdated_) arrive<false>(averaging, step, weights, true);
    outdated_ = false;
  }

  /// Collective, blocking. Writes the mean over ranks of `from`'s tensors to those of `to`.
  void take_mean_of_ranks(C& communicator, std::int64_t step, std::span<const std::span<const T>> from,
                          std::span<const std::span<T>> to) {
    buffer<T> sum(stride_);
    for (const piece& p : pieces_) std::ranges::copy(from[p.tensor], sum.data() + p.offset);
    write_header(sum, communicator.rank(), {step, calls::consensus, true, 1});
    auto started = communicator.start_sum(sum.elements());
    try {
      started.wait();
    } catch (...) {
      std::move(sum).abandon();
      throw;
    }
    read_headers(std::span<const T>(sum.elements().subspan(size_)), header_, step);
    for (const piece& p : pieces_)
      for (std::size_t i = 0; i < p.size; ++i) to[p.tensor][i] = sum[p.offset + i] / T(communicator.size());
  }

  /// Lands what is in flight, without absorbing it, and writes everything that the bucket keeps.
  template <class Archive>
  void save(Archive& archive, measurement& measured) {
    for (std::int64_t number = absorbed_; number < launched_; ++number) wait(at(number), measured);
    for (const std::int64_t count : counters()) put(archive, count);
    put(archive, outdated_);
    put(archive, collected_.steps);
    put(archive, collected_.samples);
    put(archive, collected_.loss);
    for (const slot& m : ring_) {
      put(archive, m.said.step);
      put(archive, static_cast<int>(m.said.call));
      put(archive, m.said.finite);
      put(archive, m.said.samples);
      put(archive, m.said.loss);
      for (const double squares : {m.said.squares.all, m.said.squares.latest, m.said.squares.earlier})
        put(archive, squares);
      put(archive, m.scale);
    }
    for_each_vector([&](std::span<T> elements) { put(archive, std::span<const T>(elements)); });
    for (const auto& group : scalars_) put(archive, std::span<const double>(group));
  }

  /// Reads what `save` wrote before `step`. Throws `checkpoint_error` where that cannot be. Precondition: nothing is in
  /// flight.
  template <class Archive>
  void load(Archive& archive, std::int64_t step) {
    std::array<std::int64_t, 6> counts;
    for (std::int64_t& count : counts) count = get<std::int64_t>(archive);
    outdated_ = get<bool>(archive);
    collected_.steps = get<std::int64_t>(archive);
    collected_.samples = get<double>(archive);
    collected_.loss = get<double>(archive);
    const auto [launched, absorbed, updates, advanced, looked_ahead, seen] = counts;
    const auto within = [](std::int64_t count, std::int64_t most) { return 0 <= count && count <= most; };
    if (!within(launched, step) || !within(absorbed, launched) || launched - absorbed > std::ssize(ring_) ||
        !within(updates, absorbed) || !within(advanced, step) || !within(looked_ahead, step) ||
        !within(seen, launched) || !within(collected_.steps, step))
      throw checkpoint_error("syncopate: the checkpoint is damaged: its numbers of messages contradict each other");
    std::tie(launched_, absorbed_, updates_, advanced_, looked_ahead_, seen_) =
        std::tie(launched, absorbed, updates, advanced, looked_ahead, seen);
    for (slot& m : ring_) {
      m.said.step = get<std::int64_t>(archive);
      const int call = get<int>(archive);
      if (m.said.step < 0 || m.said.step > step)
        throw checkpoint_error("syncopate: the checkpoint is damaged: a message in it is of no step that has been");
      if (call != static_cast<int>(calls::step) && call != static_cast<int>(calls::join))
        throw checkpoint_error("syncopate: the checkpoint is damaged: a message in it is of no known kind");
      m.said.call = static_cast<calls>(call);
      m.said.finite = get<bool>(archive);
      m.said.samples = get<double>(archive);
      m.said.loss = get<double>(archive);
      for (double* const squares : {&m.said.squares.all, &m.said.squares.latest, &m.said.squares.earlier})
        *squares = get<double>(archive);
      m.scale = get<T>(archive);
    }
    for_each_vector([&](std::span<T> elements) { get(archive, elements); });
    for (auto& group : scalars_) get(archive, std::span<double>(group));
  }

  /// Calls `visit(elements)` for everything that has to be bitwise the same on all ranks, where the averaging does not
  /// let ranks have weights of their own: true weights, and the rule's state. Of what ranks share there is nothing.
  template <class Visitor>
  void for_each_common_vector(Visitor visit) {
    if (shared_) return;
    visit(weights_.elements());
    for (const buffer<T>& vector : rule_state_) visit(vector.elements());
  }

  /// Lets messages in flight progress.
  void poll() {
    for (std::int64_t number = absorbed_; number < launched_; ++number) has_landed(number);
    gather_.test();
  }

  /// Whether a message has landed; lets it progress.
  bool has_landed(std::int64_t message) {
    const bool sent = at(message).sent.test(), apart = at(message).sent_apart.test();
    return sent && apart;
  }

 private:
  std::array<std::int64_t, 6> counters() const {
    return {launched_, absorbed_, updates_, advanced_, looked_ahead_, seen_};
  }

  /// Everything that is kept for each parameter.
  template <class Visitor>
  void for_each_vector(Visitor visit) {
    for (slot& m : ring_)
      for (const buffer<T>* vector : {&m.sum, &m.own, &m.weights_then, &m.gathered, &m.exchanged})
        visit(vector->elements());
    visit(weights_.elements());
    const auto visit_all = [&](const auto& vectors) {
      for (const buffer<T>& vector : vectors) visit(vector.elements());
    };
    visit_all(predictor_state_);
    visit_all(rule_state_);
    visit_all(local_rule_state_);
    visit_all(merge_state_);
  }

  /// What is known of a message that has landed. Of factors, forms the product.
  agreed_headers read_received(slot& m) {
    if (m.received) return *m.received;
    const std::span<const T> sum = m.sum.elements(), gathered = m.gathered.elements();
    if (factors_) {
      m.received = factors_->read(gathered, m.said.step);
      factors_->form(gathered, std::span<const T>(m.exchanged.elements()), m.sum.elements().subspan(first_, size_),
                     product_);
    } else if constexpr (sharded) {
      m.received = read_summed_header(sum.subspan(first_ + size_), ranks_);
    } else {
      m.received = read_headers(sum.subspan(size_), header_, m.said.step);
    }
    return *m.received;
  }

  slot& at(std::int64_t number) { return ring_[static_cast<std::size_t>(number) % ring_.size()]; }

  /// Starts what a message needs, or does it in one blocking call, if that is wanted, and the communicator has one.
  static auto start_sum(C& communicator, std::span<T> elements, [[maybe_unused]] bool at_once) {
    if constexpr (sharded) {
      return std::optional(communicator.start_reduce_scatter(elements));
    } else {
      if constexpr (requires { communicator.sum(elements); })
        if (at_once) {
          communicator.sum(elements);
          return std::optional<request>();
        }
      return std::optional(communicator.start_sum(elements));
    }
  }

  /// Starts what a message needs.
  void start(C& communicator, slot& m, bool at_once) {
    if constexpr (ShardingCommunicator<C, T>)
      if (factors_) {
        m.sent.start([&] { return std::optional(communicator.start_all_gather(m.gathered.elements())); });
        if (factors_->sharded())
          m.sent_apart.start([&] { return std::optional(communicator.start_all_to_all(m.exchanged.elements())); });
        return;
      }
    m.sent.start([&] { return start_sum(communicator, m.sum.elements(), at_once); });
  }

  /// Waits until a message has landed. The end of training is no part of what is measured.
  void wait(slot& m, measurement& measured) {
    m.sent.wait(m.said.call == calls::step, measured, taken_);
    m.sent_apart.wait(m.said.call == calls::step, measured, taken_);
  }

  /// Gives up memory that a transport may still write to.
  static void abandon(slot& m) noexcept {
    for (buffer<T>* memory : {&m.sum, &m.gathered, &m.exchanged}) std::move(*memory).abandon();
  }

  /// Cuts what travels together into blocks of equal length, whatever tensors that cuts.
  template <class Add>
  void cut(std::span<const piece> tensors, std::size_t blocks, Add add) const {
    std::size_t begin = 0;
    for (const piece& tensor : tensors) {
      std::size_t from = 0;
      do {
        const std::size_t block = size_ > 0 ? std::min(begin / size_, blocks - 1) : 0;
        const std::size_t size = std::min(tensor.size - from, (block + 1) * size_ - begin);
        add(block, {tensor.tensor, size, from, begin + block * (stride_ - size_)});
        from += size;
        begin += size;
      } while (from < tensor.size);
    }
  }

  /// Cuts a layer whose factors travel: a matrix by its rows, and a bias.
  template <class Add>
  void cut_by_rows(std::span<const piece> tensors, std::size_t blocks, Add add) const {
    for (std::size_t block = 0; block < blocks; ++block) {
      std::size_t offset = block * stride_;
      for (const piece& tensor : tensors) {
        const std::size_t each =
            &tensor == &tensors.front() ? factors_->inputs_each() * factors_->outputs() : factors_->bias_each();
        const std::size_t from = std::min(block * each, tensor.size);
        add(block, {tensor.tensor, std::min(each, tensor.size - from), from, offset});
        offset += each;
      }
    }
  }

  /// Writes this rank's factors into its message.
  void pack(const departure& now, slot& out, finiteness<T>& seen) const {
    factors_->pack(given_, static_cast<T>(now.samples), out.gathered.elements(), out.exchanged.elements());
    if (!now.check) return;
    for (const std::span<T> packed : {factors_->own_of(out.gathered.elements()), out.exchanged.elements()})
      seen.look_at(packed.data(), packed.size());
  }

  /// What turns a landed sum into a mean: the formulas' loop multiplies by `slot::scale`. It is a power of two, since
  /// such a product is exact; any other could be contracted with what a formula does next, differently in different
  /// loops. So where the number of samples is no power of two, the sum is divided by it here, in a pass of its own.
  void take_mean(slot& m, T samples, T shrink) const {
    int exponent = 0;
    if (shrink == T(1) && std::frexp(samples, &exponent) == T(0.5)) {
      m.scale = T(1) / samples;
      return;
    }
    m.scale = T(1);
    T* const elements = m.sum.data() + first_;
    if (shrink == T(1))
      for_each_element(size_, [=](std::size_t i) SYNCOPATE_INLINE_LAMBDA { elements[i] /= samples; });
    else
      for_each_element(size_,
                       [=](std::size_t i) SYNCOPATE_INLINE_LAMBDA { elements[i] = elements[i] / samples * shrink; });
  }

  void write_header(slot& m, int rank, const header& own) const {
    if (factors_)
      return coded_header<T>::write(factors_->header_of(m.gathered.elements(), static_cast<std::size_t>(rank)), own);
    write_header(m.sum, rank, own);
  }
  void write_header(const buffer<T>& message, int rank, const header& own) const {
    if constexpr (sharded) {
      const std::size_t length = header_ + block_sums;
      for (std::size_t end = stride_; end <= message.size(); end += stride_)
        write_summed_header(message.elements().subspan(end - length, length), own);
    } else {
      const std::span<T> all = message.elements().subspan(size_);
      std::ranges::fill(all, T(0));
      coded_header<T>::write(all.subspan(static_cast<std::size_t>(rank) * header_, header_), own);
    }
  }

  template <class Policy, std::size_t N>
  static placed<Policy, T> place(const Policy& policy, const std::array<buffer<T>, N>& state, std::int64_t count) {
    std::array<T*, N> vectors{};
    for (std::size_t v = 0; v < N; ++v) vectors[v] = state[v].data();
    if constexpr (observed_terms < Policy, T >> 0)
      return {policy, {}, vectors};  // prepared group by group
    else
      return {policy, prepare(policy, count), vectors};
  }

  /// The policies at the beginning of the bucket, for the next local move or the mean that landed last.
  placed_policies<A, T> place(const A& averaging) const {
    const std::int64_t earlier = updates_ > 0 ? updates_ - 1 : 0;
    return {place(predictor_of(averaging), predictor_state_, earlier),
            place(rule_of(averaging), rule_state_, advances<A, T> ? advanced_ : earlier),
            place(local_rule_of(averaging), local_rule_state_, looked_ahead_),
            place(merge_of(averaging), merge_state_, earlier)};
  }

  /// The loops of `leave`, over a gradient that is there.
  void depart(const A& averaging, bool moves, const departure& now, std::span<const std::span<T>> weights,
              std::span<const std::span<const T>> gradients, slot& out, finiteness<T>& seen) const {
    const placed_policies<A, T> policies = place(averaging);
    for (const piece& p : pieces_) {
      const placed_policies<A, T> here = policies.advanced_by(advances<A, T> ? p.offset : 0);
      T* const weight = weights[p.tensor].data() + p.from;
      const T* const gradient = gradients[p.tensor].data() + p.from;
      if constexpr (!advances<A, T>) {
        depart<false, true>(averaging, here, p, weight, gradient, out, now, seen);
      } else {
        if (moves && now.launches)
          depart<true, true>(averaging, here, p, weight, gradient, out, now, seen);
        else if (moves)
          depart<true, false>(averaging, here, p, weight, gradient, out, now, seen);
        else
          depart<false, true>(averaging, here, p, weight, gradient, out, now, seen);
      }
    }
  }

  template <bool Moves, bool Launches>
  static void depart(const A& averaging, const placed_policies<A, T>& policies, const piece& p, T* weights,
                     const T* gradients, slot& out, const departure& now, finiteness<T>& seen) {
    const A formulas = averaging;
    const auto samples = static_cast<T>(now.samples);
    [[maybe_unused]] T* const sum = out.sum.data() + p.offset;
    [[maybe_unused]] T* const own = any_keeps_own<A> ? out.own.data() + p.offset : nullptr;
    [[maybe_unused]] T* const then = any_keeps_weights<A> ? out.weights_then.data() + p.offset : nullptr;
    const auto send = [=](std::size_t i) SYNCOPATE_INLINE_LAMBDA {
      const T contribution = formulas.message(weights[i], gradients[i]);
      if constexpr (any_keeps_own<A>) own[i] = contribution;
      sum[i] = contribution * samples;
    };
    const auto run = [&](auto body) {
      if (Launches && now.check)
        for_each_element(p.size, body, [&](std::size_t begin, std::size_t count) SYNCOPATE_INLINE_LAMBDA {
          seen.look_at(sum + begin, count);
        });
      else
        for_each_element(p.size, body);
    };
    if constexpr (Moves)
      with_bound<false>(policies, [=](auto with_at) {
        run([=](std::size_t i) SYNCOPATE_INLINE_LAMBDA {
          if constexpr (Launches && any_keeps_weights<A>) then[i] = weights[i];
          formulas.advance(weights[i], gradients[i], with_at(i));
          if constexpr (Launches) send(i);
        });
      });
    else
      run([=](std::size_t i) SYNCOPATE_INLINE_LAMBDA {
        if constexpr (any_keeps_weights<A>) then[i] = weights[i];
        send(i);
      });
  }

  /// Adds a contribution to those of earlier steps.
  void add(const A& averaging, T samples, std::span<const std::span<T>> weights,
           std::span<const std::span<const T>> gradients, slot& out) const {
    const A formulas = averaging;
    for (const piece& p : pieces_) {
      const T* const weight = weights[p.tensor].data() + p.from;
      const T* const gradient = gradients[p.tensor].data() + p.from;
      T* const sum = out.sum.data() + p.offset;
      [[maybe_unused]] T* const own = any_keeps_own<A> ? out.own.data() + p.offset : nullptr;
      [[maybe_unused]] T* const then = any_keeps_weights<A> ? out.weights_then.data() + p.offset : nullptr;
      for_each_element(p.size, [=](std::size_t i) SYNCOPATE_INLINE_LAMBDA {
        const T contribution = formulas.message(weight[i], gradient[i]);
        if constexpr (any_keeps_own<A>) own[i] += contribution;
        if constexpr (any_keeps_weights<A>) then[i] = weight[i];
        sum[i] += contribution * samples;
      });
    }
  }

  /// Looks at what several steps have brought together.
  void look_at_all(const slot& out, finiteness<T>& seen) const {
    for (const piece& p : pieces_) seen.look_at(out.sum.data() + p.offset, p.size);
  }

  /// Notes norms of a contribution that is about to leave; `earlier` is what was there before the last step.
  void observe(departure& now, const collected& sent, double earlier, std::span<const std::span<const T>> gradients,
               const slot& out) const {
    const double each = sent.samples / static_cast<double>(sent.steps), all = sum_of_squares_sent(out) / (each * each);
    now.squares.all += all;
    now.squares.earlier += earlier / (each * each);
    if (now.samples == 0) return;  // the gradient is not to be looked at
    double latest = 0;
    if (sent.steps > 1)
      for (const piece& p : pieces_) latest += sum_of_squares(gradients[p.tensor].subspan(p.from, p.size));
    const double share = now.samples / each;
    now.squares.latest += sent.steps > 1 ? latest * share * share : all;
  }

  /// Of a contribution, times the number of samples.
  double sum_of_squares_sent(const slot& out) const {
    double sum = 0;
    for (const piece& p : pieces_)
      sum += sum_of_squares(std::span<const T>(out.sum.elements().subspan(p.offset, p.size)));
    return sum;
  }

  /// A message of a rank that has nothing to say.
  void contribute_nothing(const A& averaging, std::span<const std::span<T>> weights, slot& out) const {
    std::ranges::fill(out.sum.elements(), T(0));
    if (factors_) factors_->clear(out.gathered.elements(), out.exchanged.elements());
    for (const piece& p : pieces_) {
      const std::span<const T> weight = weights[p.tensor].subspan(p.from, p.size);
      if constexpr (any_keeps_own<A>)
        for (std::size_t i = 0; i < p.size; ++i) out.own[p.offset + i] = averaging.message(weight[i], T(0));
      if constexpr (any_keeps_weights<A>) std::ranges::copy(weight, out.weights_then.data() + p.offset);
    }
  }

  /// Where a mean lies and what belongs to it, from some element on. Pointers to what is not kept are null.
  struct arrival {
    const T* sum = nullptr;
    T scale = T(1);
    const T* own = nullptr;
    const T* weight = nullptr;
    const T* weight_then = nullptr;
    int staleness = 0;

    arrival advanced_by(std::size_t offset) const {
      arrival result = *this;
      for (const T** start : {&result.sum, &result.own, &result.weight, &result.weight_then})
        if (*start) *start += offset;
      return result;
    }
    SYNCOPATE_ALWAYS_INLINE landed<T> at(std::size_t i) const {
      landed<T> m{sum[i] * scale, T(0), T(0), T(0), staleness};
      if constexpr (any_keeps_own<A>) m.own = own[i];
      if constexpr (any_keeps_weights<A>) {
        m.weight = weight[i];
        m.weight_then = weight_then[i];
      }
      return m;
    }
  };

  /// The mean that landed last, from the bucket's first element on; to be folded into weights that it does not know.
  arrival latest(std::int64_t step) {
    // Before the first one there is a message that was never used, and is zero.
    const slot& m = absorbed_ > 0 ? at(absorbed_ - 1) : at(launched_);
    arrival result{m.sum.data(), m.scale, m.own.data(), nullptr, m.weights_then.data()};
    if (absorbed_ > 0) result.staleness = static_cast<int>(step - m.said.step);
    return result;
  }

  /// What is known of the gradient that message `number` carries, given the mean that landed last.
  arrival predicted_for(std::int64_t number, arrival known, std::size_t offset) {
    const slot& m = at(number);
    if constexpr (any_keeps_own<A>) known.own = m.own.data() + offset;
    if constexpr (any_keeps_weights<A>) {
      known.weight = m.weights_then.data() + offset;
      if (absorbed_ == 0) known.weight_then = known.weight;
    }
    known.staleness = absorbed_ > 0 ? static_cast<int>(m.said.step - at(absorbed_ - 1).said.step) : 0;
    return known;
  }

  /// Sums what the predictor observes over `count` elements, and prepares it.
  static auto observe(const placed<P, T>& predictor, const arrival& a, std::size_t count, std::int64_t earlier,
                      std::array<double, scalars<P>>& kept) {
    constexpr std::size_t lanes = small_chunk_length;  // sums that do not wait for each other
    const placed<P, T> here = predictor;
    const arrival known = a;
    std::array<double, terms> sums{};
    for (std::size_t begin = 0; begin < count; begin += chunk_length) {
      const std::size_t end = std::min(count, begin + chunk_length);
      alignas(64) T partial[terms][lanes] = {};
      const auto add = [&](std::size_t lane, std::size_t i) SYNCOPATE_INLINE_LAMBDA {
        [&]<std::size_t... S, std::size_t... K>(std::index_sequence<S...>, std::index_sequence<K...>)
            SYNCOPATE_INLINE_LAMBDA {
          const std::array<T, terms> seen = here.policy.observe(known.at(i), std::as_const(here.state[S][i])...);
          ((partial[K][lane] += seen[K]), ...);
        }
        (std::make_index_sequence<state_vectors<P>>{}, std::make_index_sequence<terms>{});
      };
      std::size_t first = begin;
      for (; first + lanes <= end; first += lanes) {
        const auto add_at_first = [&](std::size_t lane) SYNCOPATE_INLINE_LAMBDA { add(lane, first + lane); };
        for_each_element_of_chunk<lanes>(0, add_at_first);
      }
      for (std::size_t i = first; i < end; ++i) add(i - first, i);
      for (std::size_t k = 0; k < terms; ++k)
        for (std::size_t lane = 0; lane < lanes; ++lane) sums[k] += static_cast<double>(partial[k][lane]);
    }
    return predictor.policy.prepare(earlier, sums, kept);
  }

  /// Absorbs the mean of the message that landed last, if `Arrived`; looks ahead over the messages in flight, if
  /// `looks_ahead_now`.
  template <bool Arrived>
  void arrive(const A& averaging, std::int64_t step, std::span<const std::span<T>> weights, bool looks_ahead_now) {
    const bool fresh = Arrived && at(absorbed_ - 1).said.step == step;
    if (!predicts_ahead && fresh)
      arrive<Arrived, !predicts_ahead>(averaging, step, weights, looks_ahead_now);
    else
      arrive<Arrived, false>(averaging, step, weights, looks_ahead_now);
  }

  template <bool Arrived, bool Fresh>
  void arrive(const A& averaging, std::int64_t step, std::span<const std::span<T>> weights, bool looks_ahead_now) {
    const placed_policies<A, T> policies = place(averaging);
    prepared_rules_.clear();
    if constexpr (predicts_ahead)
      for (std::int64_t number = absorbed_; number < launched_; ++number)
        prepared_rules_.push_back(prepare(rule_of(averaging), updates_ + number - absorbed_));
    const bool ahead = predicts_ahead && looks_ahead_now && in_flight() > 0;
    const arrival newest = latest(step);
    for (const piece& p : own_pieces_) {
      const std::size_t group = observes_chunks(averaging) ? chunk_length : p.size;
      for (std::size_t begin = 0; begin < p.size; begin += group) {
        const std::size_t count = std::min(group, p.size - begin), offset = p.offset + begin;
        T* const user = weights[p.tensor].data() + p.from + begin;
        T* const weight = keeps_true_weights ? weights_.data() + (offset - first_) : user;
        arrival mean = newest.advanced_by(offset);
        mean.weight = weight;
        placed_policies<A, T> here = policies.advanced_by(offset - first_);
        if constexpr (terms > 0) {
          auto& kept = scalars_[p.first_group + begin / chunk_length];
          auto scratch = kept;
          here.predictor.prepared = observe(here.predictor, ahead ? predicted_for(absorbed_, mean, offset) : mean,
                                            count, Arrived ? updates_ - 1 : updates_, Arrived ? kept : scratch);
        }
        if constexpr (predicts_ahead) {
          if (ahead && Arrived && in_flight() == 1) {
            look_ahead<true>(averaging, here, mean, absorbed_, offset, weight, user, count);
          } else if (ahead) {
            look_far_ahead<Arrived>(averaging, here, mean, offset, weight, user, count);
          } else {
            if constexpr (Arrived) absorb<Fresh>(averaging, here, mean, weight, count);
            if (looks_ahead_now) std::copy_n(weight, count, user);
          }
        } else if constexpr (Arrived) {
          absorb<Fresh>(averaging, here, mean, weight, count);
        }
      }
    }
    if (ahead) ++looked_ahead_;
  }

  /// Folds a mean into the weights. Which of fresh and late it is, is known outside the loop, so that a formula may
  /// ask.
  template <bool Fresh>
  static void absorb(const A& averaging, const placed_policies<A, T>& policies, const arrival& mean, T* weight,
                     std::size_t count) {
    const A formulas = averaging;
    with_bound<Fresh>(policies, [=](auto with_at) {
      arrival known = mean;
      if constexpr (!predicts_ahead) known.staleness = Fresh ? 0 : std::max(1, mean.staleness);
      for_each_element(count, [=](std::size_t i) SYNCOPATE_INLINE_LAMBDA {
        const auto with = with_at(i);
        const landed<T> m = known.at(i);
        formulas.absorb(weight[i], m, with);
        if constexpr (predicts_ahead && state_vectors < P >> 0) with.predict(m);  // for its history
      });
    });
  }

  /// Looks ahead over all messages in flight, oldest first, chunk by chunk. Each prediction starts from the history as
  /// it was before the arrived mean.
  template <bool Arrived>
  void look_far_ahead(const A& averaging, const placed_policies<A, T>& all_policies, const arrival& mean,
                      std::size_t offset, T* weight, T* user, std::size_t all) {
    alignas(64) std::array<std::array<T, chunk_length>, state_vectors<P>> history, history_scratch;
    alignas(64) std::array<std::array<T, chunk_length>, state_vectors<U>> rule_scratch;
    for (std::size_t begin = 0; begin < all; begin += chunk_length) {
      const std::size_t count = std::min(chunk_length, all - begin);
      const arrival known = mean.advanced_by(begin);
      placed_policies<A, T> policies = all_policies.advanced_by(begin);
      for (std::size_t v = 0; v < state_vectors<P>; ++v)
        std::copy_n(policies.predictor.state[v], count, history[v].data());
      if constexpr (Arrived) absorb<false>(averaging, policies, known, weight + begin, count);
      std::copy_n(weight + begin, count, user + begin);
      for (std::size_t v = 0; v < state_vectors<U>; ++v) {
        std::copy_n(policies.rule.state[v], count, rule_scratch[v].data());
        policies.rule.state[v] = rule_scratch[v].data();
      }
      for (std::int64_t number = absorbed_; number < launched_; ++number) {
        for (std::size_t v = 0; v < state_vectors<P>; ++v) {
          std::copy_n(history[v].data(), count, history_scratch[v].data());
          policies.predictor.state[v] = history_scratch[v].data();
        }
        look_ahead<false>(averaging, policies, known, number, offset + begin, user + begin, user + begin, count);
      }
    }
  }

  /// Leaves in `user` a copy of the weights that message `number`'s predicted gradient has advanced. If `Absorbs`, a
  /// mean is folded into the weights first, and the rule's state is left as that made it; else the state moves on.
  template <bool Absorbs>
  void look_ahead(const A& averaging, const placed_policies<A, T>& policies, const arrival& mean, std::int64_t number,
                  std::size_t offset, T* weight, T* user, std::size_t count) {
    const A formulas = averaging;
    const arrival wanted = predicted_for(number, mean, offset);
    const coefficients_of<U, T>& prepared = prepared_rules_[static_cast<std::size_t>(number - absorbed_)];
    with_bound<false>(policies, [=](auto with_at) {
      using with_type = decltype(with_at(std::size_t{}));
      using rule_cell = decltype(with_type::rules);
      const auto next = alternative_of<std::remove_cvref_t<decltype(rule_cell::prepared)>>(prepared);
      for_each_element(count, [=](std::size_t i) SYNCOPATE_INLINE_LAMBDA {
        const with_type with = with_at(i);
        if constexpr (Absorbs) formulas.absorb(weight[i], mean.at(i), with);
        [&]<std::size_t... V>(std::index_sequence<V...>) SYNCOPATE_INLINE_LAMBDA {
          T ahead = weight[i];
          std::array<T, state_vectors<U>> state{*with.rules.state[V]...};
          const with_type with_copy{with.predictor, rule_cell{with.rules.policy, next, {&state[V]...}},
                                    with.local_rules, with.merges};
          formulas.look_ahead(ahead, wanted.at(i), with_copy);
          user[i] = ahead;
          if constexpr (!Absorbs) ((*with.rules.state[V] = state[V]), ...);
        }
        (std::make_index_sequence<state_vectors<U>>{});
      });
    });
  }

  static bool observes_chunks([[maybe_unused]] const A& averaging) {
    if constexpr (requires { averaging.predictor.per; })
      return averaging.predictor.per == granularity::chunk;
    else
      return false;
  }

  int ranks_;
  std::size_t header_;              ///< length of each rank's
  std::optional<factors> factors_;  ///< of a layer whose factors travel
  matrix_product product_;
  factor_pair<T> given_;                    ///< of the next message
  bool shared_ = false;                     ///< whether each rank keeps up to date a part of it only
  std::vector<piece> pieces_, own_pieces_;  ///< of the messages, and of what this rank keeps up to date
  std::size_t size_ = 0;  ///< elements that it keeps up to date: all, or, where ranks share the work, those of a block
  std::size_t stride_ = 0;  ///< those and headers
  std::size_t first_ = 0;   ///< where they begin in a message
  std::array<buffer<T>, state_vectors<P>> predictor_state_;
  std::array<buffer<T>, state_vectors<U>> rule_state_;
  std::array<buffer<T>, state_vectors<L>> local_rule_state_;
  std::array<buffer<T>, state_vectors<M>> merge_state_;
  std::vector<std::array<double, scalars<P>>> scalars_;  ///< of each group
  buffer<T> weights_;                                    ///< the true ones, where the averaging looks ahead
  transfer<request> gather_;                             ///< of weights, where ranks share the work
  std::vector<slot> ring_;
  std::vector<coefficients_of<U, T>> prepared_rules_;  ///< for each message in flight
  collected collected_;
  std::int64_t launched_ = 0, absorbed_ = 0, updates_ = 0, advanced_ = 0, looked_ahead_ = 0;
  std::int64_t seen_ = 0;  ///< messages that were in flight when the user's weights were written
  bool gathers_ = false;
  bool outdated_ = false;  ///< whether they lack a look-ahead, since another mean was to be absorbed first
  bucket_statistics taken_;
};

}  // namespace syncopate::detail

#if defined(__clang__)
#pragma clang diagnostic pop
#endif
