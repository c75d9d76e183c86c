#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "../../communicators/link_model.hpp"
#include "../faults.hpp"
#include "collective_operation.hpp"

namespace syncopate::detail {

/// What the ranks of one run share.
struct team_state {
  team_state(int size, std::optional<link_model> model, double stall_limit_seconds)
      : ranks(static_cast<std::size_t>(size)),
        link(model),
        stall_limit(detail::stall_limit(stall_limit_seconds)),
        left(ranks, false) {}

  const std::size_t ranks;
  const std::optional<link_model> link;
  const team_clock::duration stall_limit;  ///< 0: none

  std::mutex mutex;  // guards what follows, and all channels of the team
  std::condition_variable changed;
  team_clock::time_point link_free{};
  std::vector<bool> left;                   ///< ranks that call nothing any more
  std::optional<std::size_t> first_failed;  ///< of those that left because they failed
  std::string failure_text = "syncopate: a rank failed while other ranks depended on it";
  std::exception_ptr first_failure;  ///< what that rank threw; else what the first one threw that did

  /// The rank goes no further, and why.
  void fail(std::size_t rank, std::string_view what) noexcept {
    const std::lock_guard lock(mutex);
    note_failure(rank, what);
    left[rank] = true;
    changed.notify_all();
  }

  /// The rank's function has ended; with `failure`, because it threw.
  void leave(std::size_t rank, const std::exception_ptr& failure = {}) {
    const std::string text = failure ? text_of(failure) : "";
    const std::lock_guard lock(mutex);
    if (failure) {
      note_failure(rank, text);
      if (!first_failure || first_failed == rank) first_failure = failure;
    }
    left[rank] = true;
    changed.notify_all();
  }

  /// When a transfer that could start now ends. The link carries one at a time.
  team_clock::time_point send(const collective_call& call) {
    const auto now = team_clock::now();
    if (!link) return now;
    // A bandwidth next to nothing must not overflow the clock, and three years are as good as for ever.
    const double rounds = call.operation == collective_call::kind::sum ? 2 : 1;
    const double seconds = std::min(rounds * link->reduce_scatter_seconds(call.bytes(), static_cast<int>(ranks)), 1e8);
    link_free =
        std::max(now, link_free) + std::chrono::ceil<team_clock::duration>(std::chrono::duration<double>(seconds));
    return link_free;
  }

 private:
  void note_failure(std::size_t rank, std::string_view what) noexcept {
    if (first_failed) return;
    first_failed = rank;
    try {
      failure_text = text_of_peer_failure(static_cast<int>(rank), what);
    } catch (const std::exception&) {  // without memory, others hear less of it
    }
  }

  static std::string text_of(const std::exception_ptr& failure) {
    try {
      std::rethrow_exception(failure);
    } catch (const std::exception& exception) {
      return exception.what();
    } catch (...) {
      return "it threw something that is not a std::exception";
    }
  }
};

/// Operations of one channel of a team. The k-th call of one rank meets the k-th calls of the others. Once all have
/// called there is work, in parts: ranks that ask for the operation, or abandon it, do what none has begun. Nobody
/// gives up a part that it has begun, so whoever waits for one waits for work, not for a call. Nothing is allocated
/// unless ranks are further apart than ever before.
class thread_channel {
 public:
  explicit thread_channel(std::shared_ptr<team_state> team) : team_(std::move(team)), next_(team_->ranks) {}

  std::size_t ranks() const { return team_->ranks; }
  const std::shared_ptr<team_state>& team() const { return team_; }

  /// Calls an operation for a rank. `do_part` does one part of it.
  collective_operation& call(std::size_t rank, collective_call what, void* data, const void* own,
                             collective_operation::work do_part) {
    std::unique_lock lock(team_->mutex);
    collective_operation& operation = pending(next_[rank]);
    ++next_[rank];
    if (team_->stall_limit.count() > 0) last_call_ = team_clock::now();
    auto& mine = operation.contributions[rank];
    mine.arrived = true;
    mine.call = what;
    mine.data = data;
    mine.own = own;
    if (++operation.arrived < ranks()) return operation;

    pending_[oldest_++ % pending_.size()] = nullptr;
    if (operation.state == phase::failed) return operation;
    if (std::any_of(operation.contributions.begin(), operation.contributions.end(),
                    [&](const contribution& c) { return c.call != what; })) {
      fail(operation, collective_operation::fault::disagreement, operation.disagreement());
    } else {
      operation.do_part = do_part;
      operation.parts = parts_of(what);
      operation.landed_at = what.moves_elements() ? team_->send(what) : team_clock::time_point{};
      operation.state = phase::working;
    }
    team_->changed.notify_all();
    return operation;
  }

  /// The end of the operation for the rank: when it landed, or nothing if it goes on and `blocking` is false. Does
  /// what there is to do, or, if `blocking` is false, one rank's share of it, so that ranks that ask equally often are
  /// held up equally. Throws what went wrong; to wait in vain for the stall limit is that, too, and for all ranks,
  /// since one has given up. A rank that was told when it landed must not name the operation again.
  std::optional<team_clock::time_point> end(collective_operation& operation, std::size_t rank, bool blocking) {
    std::unique_lock lock(team_->mutex);
    if (blocking)
      await_calls(operation, rank, lock);
    else if (gathering(operation))
      return {};
    help(operation, blocking ? operation.parts : (operation.parts + ranks() - 1) / ranks(), lock);
    if (blocking)
      team_->changed.wait(lock, [&] { return operation.state != phase::working; });
    else if (operation.state == phase::working)
      return {};
    if (operation.state == phase::failed) operation.throw_failure();
    const auto landed_at = operation.landed_at;
    release(operation);
    return landed_at;
  }

  /// The rank does not want to know. What its memory is needed for is done, or goes on with a copy; that waits for no
  /// rank that has not called yet.
  void abandon(collective_operation& operation, std::size_t rank) noexcept {
    std::unique_lock lock(team_->mutex);
    if (operation.state == phase::gathering) {
      auto& mine = operation.contributions[rank];
      mine.adopted = std::make_unique<std::byte[]>(mine.call.bytes());
      std::copy_n(static_cast<const std::byte*>(mine.data), mine.call.bytes(), mine.adopted.get());
      mine.data = mine.adopted.get();
    }
    help(operation, operation.parts, lock);
    team_->changed.wait(lock, [&] { return operation.state != phase::working; });
    release(operation);
  }

 private:
  using phase = collective_operation::phase;

  static void fail(collective_operation& operation, collective_operation::fault by, std::string text) {
    operation.failure = std::move(text);
    operation.failed_by = by;
    operation.state = phase::failed;
  }

  /// Returns once all ranks have called the operation, or it has failed; it does if nobody calls anything for too long.
  void await_calls(collective_operation& operation, std::size_t rank, std::unique_lock<std::mutex>& lock) {
    if (!gathering(operation)) return;
    if (team_->stall_limit.count() == 0) return team_->changed.wait(lock, [&] { return !gathering(operation); });
    for (const auto begin = team_clock::now(); gathering(operation);) {
      const auto end = std::max(begin, last_call_) + team_->stall_limit;
      if (team_clock::now() < end)
        team_->changed.wait_until(lock, end);
      else
        give_up(operation, rank);
    }
  }

  /// Nobody is waited for any longer.
  void give_up(collective_operation& operation, std::size_t rank) const {
    std::vector<int> missing;
    for (std::size_t other = 0; other < ranks(); ++other)
      if (!operation.contributions[other].arrived) missing.push_back(static_cast<int>(other));
    fail(operation, collective_operation::fault::stall,
         text_of_stall(team_->stall_limit, operation.contributions[rank].call,
                       static_cast<std::int64_t>(operation.number)) +
             list_of_ranks(missing) + (missing.size() == 1 ? " has" : " have") + " not called it");
    team_->changed.notify_all();
  }

  /// Does up to `most` parts that no rank has begun. Gives up the lock meanwhile.
  void help(collective_operation& operation, std::size_t most, std::unique_lock<std::mutex>& lock) {
    for (; most > 0 && operation.state == phase::working && operation.begun < operation.parts; --most) {
      const std::size_t part = operation.begun++;
      lock.unlock();
      operation.do_part(operation.contributions, part);
      lock.lock();
      if (++operation.finished == operation.parts) {
        operation.landed_at = std::max(operation.landed_at, team_clock::now());
        operation.state = phase::done;
        team_->changed.notify_all();
      }
    }
  }

  /// Whether some rank has still to call the operation. Fails it if that rank has left.
  bool gathering(collective_operation& operation) const {
    for (std::size_t rank = 0; operation.state == phase::gathering && rank < ranks(); ++rank)
      if (team_->left[rank] && !operation.contributions[rank].arrived)
        team_->first_failed ? fail(operation, collective_operation::fault::peer_failure, team_->failure_text)
                            : fail(operation, collective_operation::fault::disagreement,
                                   "syncopate: rank " + std::to_string(rank) + " returned without operation " +
                                       std::to_string(operation.number) + " of its channel, which other ranks called");
    return operation.state == phase::gathering;
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
    operation.arrived = operation.begun = operation.finished = 0;
    operation.holders = ranks();
    operation.state = phase::gathering;
    free_.push_back(&operation);
  }

  std::shared_ptr<team_state> team_;
  team_clock::time_point last_call_{};          // of any rank; only with a stall limit
  std::vector<std::size_t> next_;               // per rank, the number of its next call
  std::size_t oldest_ = 0;                      // the first operation that some rank has still to call
  std::vector<collective_operation*> pending_;  // a ring: operation k is in place k modulo its size
  std::vector<std::unique_ptr<collective_operation>> pool_;
  std::vector<collective_operation*> free_;
};

}  // namespace syncopate::detail
