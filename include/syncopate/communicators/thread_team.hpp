#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "../concepts.hpp"
#include "../error.hpp"
#include "link_model.hpp"

namespace syncopate {

namespace detail {

using team_clock = std::chrono::steady_clock;

/// What a rank called. The calls of all ranks with the same number on a channel have to be equal.
struct collective_call {
  enum class kind { sum_of_floats, sum_of_doubles, broadcast, all_gather, duplicate };

  kind operation{};
  std::size_t size = 0;  ///< elements of a sum, bytes of a broadcast, bytes per rank of an all_gather
  int root = 0;          ///< of a broadcast

  bool operator==(const collective_call&) const = default;

  std::string text() const {
    const std::string amount = std::to_string(size);
    switch (operation) {
      case kind::sum_of_floats:
        return "a sum of " + amount + " floats";
      case kind::sum_of_doubles:
        return "a sum of " + amount + " doubles";
      case kind::broadcast:
        return "a broadcast of " + amount + " bytes from rank " + std::to_string(root);
      case kind::all_gather:
        return "an all_gather of " + amount + " bytes per rank";
      case kind::duplicate:
        break;
    }
    return "a duplicate";
  }
};

/// One rank's part in an operation.
struct contribution {
  bool arrived = false;
  collective_call call;
  void* data = nullptr;                  ///< in and out
  const void* own = nullptr;             ///< in, of an all_gather
  std::unique_ptr<std::byte[]> adopted;  ///< stands in for `data` once the rank's request is gone
};

/// An operation of a channel. It belongs to the pool of its channel, which reuses it.
struct collective_operation {
  enum class phase { gathering, working, done, failed };

  explicit collective_operation(std::size_t ranks) : contributions(ranks), holders(ranks) {}

  std::vector<contribution> contributions;
  std::size_t number = 0;   ///< on its channel, from 0
  std::size_t arrived = 0;  ///< ranks that called it
  std::size_t holders;      ///< ranks that have yet to see it end
  phase state = phase::gathering;
  team_clock::time_point landed_at;
  std::string failure;       ///< what happened, if it failed
  bool failed_peer = false;  ///< whether it failed because a rank did

  /// Empty if all ranks called the same, else the sentence that says who called what.
  std::string disagreement() const {
    std::string groups;
    for (std::size_t first = 0; first < contributions.size(); ++first) {
      const auto& call = contributions[first].call;
      const auto same = [&](const contribution& other) { return other.call == call; };
      if (std::any_of(contributions.begin(), contributions.begin() + static_cast<std::ptrdiff_t>(first), same))
        continue;
      std::string members;
      for (std::size_t rank = first; rank < contributions.size(); ++rank)
        if (same(contributions[rank])) members += (members.empty() ? "" : ", ") + std::to_string(rank);
      const bool one = members.find(',') == std::string::npos;
      groups += (groups.empty() ? "" : "; ") + std::string(one ? "rank " : "ranks ") + members + " " + call.text();
    }
    return "syncopate: ranks called different things as operation " + std::to_string(number) +
           " of their channel: " + groups + ".";
  }
};

/// What the ranks of one run share.
struct team_state {
  team_state(int size, std::optional<link_model> model)
      : ranks(static_cast<std::size_t>(size)), link(model), left(ranks, false) {}

  const std::size_t ranks;
  const std::optional<link_model> link;

  std::mutex mutex;  // guards what follows, and all channels of the team
  std::condition_variable changed;
  team_clock::time_point link_free{};
  std::vector<bool> left;  ///< ranks whose function has ended
  std::exception_ptr first_failure;
  std::string failure_text;

  /// The rank will call nothing any more; with `failure`, because it threw.
  void leave(std::size_t rank, const std::exception_ptr& failure = {}) {
    const std::string text = failure ? text_of(failure) : "";
    const std::lock_guard lock(mutex);
    left[rank] = true;
    if (failure && !first_failure) {
      first_failure = failure;
      failure_text = "syncopate: rank " + std::to_string(rank) + " failed while other ranks depended on it: " + text;
    }
    changed.notify_all();
  }

  /// When a transfer that could start now ends. The link carries one at a time.
  team_clock::time_point send(std::size_t bytes) {
    const auto now = team_clock::now();
    if (!link) return now;
    // A bandwidth next to nothing must not overflow the clock, and three years are as good as for ever.
    const double seconds = std::min(link->all_reduce_seconds(bytes, static_cast<int>(ranks)), 1e8);
    link_free =
        std::max(now, link_free) + std::chrono::ceil<team_clock::duration>(std::chrono::duration<double>(seconds));
    return link_free;
  }

  static std::string text_of(const std::exception_ptr& failure) {
    try {
      std::rethrow_exception(failure);
    } catch (const std::exception& exception) {
      const std::string text = exception.what(), prefix = "syncopate: ";
      return text.starts_with(prefix) ? text.substr(prefix.size()) : text;
    } catch (...) {
      return "it threw something that is not a std::exception.";
    }
  }
};

/// Operations of one channel of a team. The k-th call of one rank meets the k-th calls of the others; the rank that
/// comes last does the work, outside the lock. Nothing is allocated unless ranks are further apart than ever before.
class thread_channel {
 public:
  using work = void (*)(std::span<contribution>) noexcept;

  explicit thread_channel(std::shared_ptr<team_state> team) : team_(std::move(team)), next_(team_->ranks) {}

  std::size_t ranks() const { return team_->ranks; }
  const std::shared_ptr<team_state>& team() const { return team_; }

  collective_operation& call(std::size_t rank, collective_call what, void* data, const void* own, work do_work) {
    std::unique_lock lock(team_->mutex);
    collective_operation& operation = pending(next_[rank]);
    ++next_[rank];
    auto& mine = operation.contributions[rank];
    mine.arrived = true;
    mine.call = what;
    mine.data = data;
    mine.own = own;
    if (++operation.arrived < ranks()) return operation;

    pending_[oldest_++ % pending_.size()] = nullptr;
    if (operation.state == collective_operation::phase::failed) return operation;
    if (std::ranges::any_of(operation.contributions, [&](const contribution& c) { return c.call != what; })) {
      fail(operation, operation.disagreement(), false);
    } else {
      const bool sums = what.operation == collective_call::kind::sum_of_floats ||
                        what.operation == collective_call::kind::sum_of_doubles;
      const bool travels = sums && team_->link;
      if (travels) operation.landed_at = team_->send(bytes_of(what));
      operation.state = collective_operation::phase::working;
      lock.unlock();
      do_work(operation.contributions);
      lock.lock();
      if (!travels) operation.landed_at = team_clock::now();
      operation.state = collective_operation::phase::done;
    }
    team_->changed.notify_all();
    return operation;
  }

  /// The end of the operation for this rank: when it landed, or nothing if it goes on and `blocking` is false. Throws
  /// what went wrong. A rank that was told when it landed must not name the operation again.
  std::optional<team_clock::time_point> end(collective_operation& operation, bool blocking) {
    std::unique_lock lock(team_->mutex);
    if (blocking)
      team_->changed.wait(lock, [&] { return ended(operation); });
    else if (!ended(operation))
      return {};
    if (operation.state == collective_operation::phase::failed) {
      if (operation.failed_peer) throw peer_failure(operation.failure);
      throw communication_error(operation.failure);
    }
    const auto landed_at = operation.landed_at;
    release(operation);
    return landed_at;
  }

  /// The rank does not want to know. Whatever its memory is needed for is done, or goes on with a copy; that waits for
  /// no rank that has not called yet.
  void abandon(collective_operation& operation, std::size_t rank) noexcept {
    std::unique_lock lock(team_->mutex);
    if (operation.state == collective_operation::phase::gathering) {
      auto& mine = operation.contributions[rank];
      mine.adopted = std::make_unique<std::byte[]>(bytes_of(mine.call));
      std::copy_n(static_cast<const std::byte*>(mine.data), bytes_of(mine.call), mine.adopted.get());
      mine.data = mine.adopted.get();
    }
    team_->changed.wait(lock, [&] { return operation.state != collective_operation::phase::working; });
    release(operation);
  }

 private:
  static std::size_t bytes_of(const collective_call& what) {
    switch (what.operation) {
      case collective_call::kind::sum_of_floats:
        return what.size * sizeof(float);
      case collective_call::kind::sum_of_doubles:
        return what.size * sizeof(double);
      default:
        return what.size;
    }
  }

  static void fail(collective_operation& operation, std::string text, bool peer) {
    operation.failure = std::move(text);
    operation.failed_peer = peer;
    operation.state = collective_operation::phase::failed;
  }

  /// Whether the operation is over. It is, too, if a rank has left without it.
  bool ended(collective_operation& operation) const {
    using phase = collective_operation::phase;
    for (std::size_t rank = 0; operation.state == phase::gathering && rank < ranks(); ++rank)
      if (team_->left[rank] && !operation.contributions[rank].arrived)
        fail(operation,
             team_->first_failure ? team_->failure_text
                                  : "syncopate: rank " + std::to_string(rank) + " returned without operation " +
                                        std::to_string(operation.number) + " of its channel, which other ranks called.",
             team_->first_failure != nullptr);
    return operation.state == phase::done || operation.state == phase::failed;
  }

  /// The operation with this number, which some rank has still to call.
  collective_operation& pending(std::size_t number) {
    if (number - oldest_ == pending_.size()) {
      std::vector<collective_operation*> larger(std::max<std::size_t>(8, 2 * pending_.size()));
      for (std::size_t k = oldest_; k < number; ++k) larger[k % larger.size()] = pending_[k % pending_.size()];
      pending_.swap(larger);
    }
    collective_operation*& place = pending_[number % pending_.size()];
    if (!place) {
      place = &take();
      place->number = number;
    }
    return *place;
  }

  collective_operation& take() {
    if (free_.empty()) {
      if (free_.capacity() <= pool_.size()) free_.reserve(2 * (pool_.size() + 1));  // so that `release` cannot throw
      return *pool_.emplace_back(std::make_unique<collective_operation>(ranks()));
    }
    collective_operation& operation = *free_.back();
    free_.pop_back();
    return operation;
  }

  void release(collective_operation& operation) {
    if (--operation.holders > 0) return;
    for (auto& contribution : operation.contributions) {
      contribution.arrived = false;
      contribution.adopted.reset();
    }
    operation.arrived = 0;
    operation.holders = ranks();
    operation.state = collective_operation::phase::gathering;
    free_.push_back(&operation);
  }

  std::shared_ptr<team_state> team_;
  std::vector<std::size_t> next_;               // per rank, the number of its next call
  std::size_t oldest_ = 0;                      // the first operation that some rank has still to call
  std::vector<collective_operation*> pending_;  // a ring: operation k is in place k modulo its size
  std::vector<std::unique_ptr<collective_operation>> pool_;
  std::vector<collective_operation*> free_;
};

/// ((r0 + r1) + r2) + … in place of every summand.
template <Element T>
void sum_contributions(std::span<contribution> contributions) noexcept {
  constexpr std::size_t block = 16384 / sizeof(T);  // stays in the cache until it is written to every rank
  const std::size_t size = contributions[0].call.size;
  for (std::size_t begin = 0; begin < size; begin += block) {
    const std::size_t length = std::min(block, size - begin);
    T* const sum = static_cast<T*>(contributions[0].data) + begin;
    for (const auto& other : contributions.subspan(1)) {
      const T* const summand = static_cast<const T*>(other.data) + begin;
      for (std::size_t i = 0; i < length; ++i) sum[i] += summand[i];
    }
    for (const auto& other : contributions.subspan(1)) std::copy_n(sum, length, static_cast<T*>(other.data) + begin);
  }
}

}  // namespace detail

/// One rank's view of a `thread_team`; models `Communicator`. Copies name the same channel. It belongs to the `run`
/// that made it: afterwards, finished requests can still be looked at, but there is no one left to sum with.
class thread_communicator {
 public:
  /// A sum in flight.
  ///
  /// Destroying it unfinished neither waits for other ranks nor spoils their sum: that goes on with a copy of what this
  /// rank put in. So with threads the memory is the caller's again, also where an exception unwinds the stack.
  class request {
   public:
    request(request&& other) noexcept
        : channel_(std::move(other.channel_)),
          operation_(std::exchange(other.operation_, nullptr)),
          rank_(other.rank_),
          landed_at_(std::exchange(other.landed_at_, {})) {}
    request& operator=(request other) noexcept {
      std::swap(channel_, other.channel_);
      std::swap(operation_, other.operation_);
      std::swap(rank_, other.rank_);
      std::swap(landed_at_, other.landed_at_);
      return *this;
    }
    ~request() {
      if (operation_) channel_->abandon(*operation_, rank_);
    }

    /// Whether the sum is there and, with a modelled link, its time is over. Throws as `wait` does.
    bool test() { return ended(false) && landed_at_ <= detail::team_clock::now(); }

    /// Sleeps until then. Throws `communication_error` if ranks called different things, or if one returned without
    /// this operation, and `peer_failure` if one threw before it.
    void wait() {
      ended(true);
      std::this_thread::sleep_until(landed_at_);
    }

    /// When it completed: by the modelled link, or else when the sum was done. Precondition: it is complete.
    std::chrono::steady_clock::time_point landed_at() const { return landed_at_; }

   private:
    friend thread_communicator;
    request(std::shared_ptr<detail::thread_channel> channel, detail::collective_operation& operation, std::size_t rank)
        : channel_(std::move(channel)), operation_(&operation), rank_(rank) {}

    bool ended(bool blocking) {
      if (!operation_) return true;
      const auto landed_at = channel_->end(*operation_, blocking);
      if (!landed_at) return false;
      operation_ = nullptr;
      landed_at_ = *landed_at;
      return true;
    }

    std::shared_ptr<detail::thread_channel> channel_;
    detail::collective_operation* operation_;  // none once it has ended
    std::size_t rank_;
    std::chrono::steady_clock::time_point landed_at_{};
  };

  int rank() const { return static_cast<int>(rank_); }
  int size() const { return static_cast<int>(channel_->ranks()); }

  /// Collective, blocking: the same ranks on a new channel. The link, if there is one, is shared by all channels.
  thread_communicator duplicate() const {
    std::shared_ptr<detail::thread_channel> made;
    if (rank_ == 0) made = std::make_shared<detail::thread_channel>(channel_->team());
    call({detail::collective_call::kind::duplicate}, &made, nullptr, [](auto all) noexcept {
      using pointer = std::shared_ptr<detail::thread_channel>;
      for (const auto& other : all.subspan(1)) *static_cast<pointer*>(other.data) = *static_cast<pointer*>(all[0].data);
    }).wait();
    return {std::move(made), rank_};
  }

  /// Collective: starts ((r0 + r1) + r2) + …, in place, bitwise the same on all ranks. The rank that calls last does
  /// the summing before it returns.
  template <Element T>
  [[nodiscard]] request start_sum(std::span<T> elements) {
    using kind = detail::collective_call::kind;
    return call({std::same_as<T, float> ? kind::sum_of_floats : kind::sum_of_doubles, elements.size()}, elements.data(),
                nullptr, detail::sum_contributions<T>);
  }

  /// Collective, blocking. Throws as `request::wait` does.
  void broadcast(std::span<std::byte> bytes, int root) {
    if (root < 0 || root >= size())
      throw communication_error("syncopate: there is no rank " + std::to_string(root) + " to broadcast from among " +
                                std::to_string(size()) + ".");
    call({detail::collective_call::kind::broadcast, bytes.size(), root}, bytes.data(), nullptr, [](auto all) noexcept {
      const auto& from = all[static_cast<std::size_t>(all[0].call.root)];
      for (const auto& other : all)
        if (&other != &from)
          std::copy_n(static_cast<const std::byte*>(from.data), from.call.size, static_cast<std::byte*>(other.data));
    }).wait();
  }

  /// Collective, blocking: every rank's `own`, one after the other. Throws as `request::wait` does.
  void all_gather(std::span<const std::byte> own, std::span<std::byte> all) {
    if (all.size() != own.size() * channel_->ranks())
      throw communication_error("syncopate: an all_gather of " + std::to_string(own.size()) + " bytes per rank from " +
                                std::to_string(size()) + " ranks does not fit " + std::to_string(all.size()) +
                                " bytes.");
    call({detail::collective_call::kind::all_gather, own.size()}, all.data(), own.data(), [](auto every) noexcept {
      for (const auto& to : every) {
        auto* place = static_cast<std::byte*>(to.data);
        for (const auto& from : every)
          place = std::copy_n(static_cast<const std::byte*>(from.own), from.call.size, place);
      }
    }).wait();
  }

 private:
  friend class thread_team;
  thread_communicator(std::shared_ptr<detail::thread_channel> channel, std::size_t rank)
      : channel_(std::move(channel)), rank_(rank) {}

  request call(detail::collective_call what, void* data, const void* own, detail::thread_channel::work work) const {
    return {channel_, channel_->call(rank_, what, data, own, work), rank_};
  }

  std::shared_ptr<detail::thread_channel> channel_;
  std::size_t rank_;
};

/// Ranks as threads of one process: for tests, and to see communication overlap with computation on one machine.
///
///     syncopate::thread_team team{4, syncopate::link_model{.gigabits_per_second = 1, .latency_microseconds = 50}};
///     team.run([](syncopate::thread_communicator communicator) { … });
///
/// Sums are done at memory speed, in the order of ranks. With a `link_model` they moreover take as long as a ring
/// all-reduce over such links would: a transfer starts when all ranks have called and the transfer before it is over,
/// whatever its channel, and whoever waits for its end sleeps. Broadcasts and gathers take no modelled time.
class thread_team {
 public:
  /// Throws `configuration_error` for less than one rank, and where the link makes no sense.
  explicit thread_team(int ranks, std::optional<link_model> link = std::nullopt) : ranks_(ranks), link_(link) {
    if (ranks < 1)
      throw configuration_error("syncopate: a thread_team needs at least 1 rank, not " + std::to_string(ranks) + ".");
    if (link) link->validate();
  }

  int size() const { return ranks_; }

  /// Calls `function(thread_communicator)` on one new thread per rank and waits for all. If a rank throws, the others
  /// get a `peer_failure` at the first operation that it did not call, and `run` throws what the first one to fail
  /// threw. Each run starts afresh, also after one that failed. `function` is shared: ranks call it at the same time.
  template <class Function>
  void run(Function&& function) const {
    const auto team = std::make_shared<detail::team_state>(ranks_, link_);
    const auto channel = std::make_shared<detail::thread_channel>(team);
    std::vector<std::thread> threads;
    threads.reserve(team->ranks);
    try {
      for (std::size_t rank = 0; rank < team->ranks; ++rank)
        threads.emplace_back([&, rank] {
          try {
            function(thread_communicator(channel, rank));
            team->leave(rank);
          } catch (...) {
            team->leave(rank, std::current_exception());
          }
        });
    } catch (...) {  // no more threads: those that run must not wait for the others
      for (std::size_t rank = threads.size(); rank < team->ranks; ++rank) team->leave(rank, std::current_exception());
    }
    for (auto& thread : threads) thread.join();
    if (team->first_failure) std::rethrow_exception(team->first_failure);
  }

 private:
  int ranks_;
  std::optional<link_model> link_;
};

}  // namespace syncopate
