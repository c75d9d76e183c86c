#pragma once

#include <algorithm>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <exception>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "../detail/equal_blocks.hpp"
#include "../detail/faults.hpp"
#include "../detail/threads/channel.hpp"
#include "../detail/threads/collective_operation.hpp"
#include "../error.hpp"
#include "../tensor.hpp"
#include "link_model.hpp"

namespace syncopate {

/// One rank's view of a `thread_team`; models `Communicator`. Copies name the same channel. It belongs to the `run`
/// that made it: afterwards, finished requests can still be looked at, but there is no one left to sum with.
class thread_communicator {
 public:
  /// A sum, or a half of one, in flight.
  ///
  /// Destroying it unfinished neither waits for ranks that have not called yet nor spoils their sum: that goes on with
  /// a copy of what this rank put in. If all have called, the sum is finished first. So with threads the memory is the
  /// caller's again, also where an exception unwinds the stack.
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

    /// Whether the sum is there and, with a modelled link, its time is over. Once all ranks have called, does this
    /// rank's share of the summing: 1 / size of it, or what is left. Waits for no one. Throws as `wait` does.
    bool test() { return ended(false) && landed_at_ <= detail::team_clock::now(); }

    /// Does what is left of the summing together with the ranks that also wait or test, and sleeps until the sum is
    /// there and its time is over. Throws `communication_error` if ranks called different things, or if one returned
    /// without this operation, `peer_failure` if one threw, or called `fail`, before it, and `stalled` if ranks are
    /// missing and none has called anything on this channel for the team's stall limit, or if another rank was told so.
    void wait() {
      ended(true);
      std::this_thread::sleep_until(landed_at_);
    }

    /// When it completed: when the sum was done or, with a modelled link, its time was over, whichever came last.
    /// Precondition: it is complete.
    std::chrono::steady_clock::time_point landed_at() const { return landed_at_; }

   private:
    friend thread_communicator;
    request(std::shared_ptr<detail::thread_channel> channel, detail::collective_operation& operation, std::size_t rank)
        : channel_(std::move(channel)), operation_(&operation), rank_(rank) {}

    bool ended(bool blocking) {
      if (!operation_) return true;
      const auto landed_at = channel_->end(*operation_, rank_, blocking);
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
    call({detail::collective_call::kind::duplicate}, &made, nullptr, [](auto all, std::size_t) noexcept {
      using pointer = std::shared_ptr<detail::thread_channel>;
      for (const auto& other : all.subspan(1)) *static_cast<pointer*>(other.data) = *static_cast<pointer*>(all[0].data);
    }).wait();
    return {std::move(made), rank_};
  }

  /// Collective: starts ((r0 + r1) + r2) + …, in place, bitwise the same on all ranks. The summing is left to `test`
  /// and `wait`.
  template <Element T>
  [[nodiscard]] request start_sum(std::span<T> elements) {
    return call({detail::collective_call::kind::sum, elements.size(), 0, sizeof(T)}, elements.data(), nullptr,
                detail::sum_part<T>);
  }

  /// Collective: starts the same sum of `size()` equal blocks, of which each rank gets its own one.
  template <Element T>
  [[nodiscard]] request start_reduce_scatter(std::span<T> elements) {
    detail::require_equal_blocks(elements.size(), size());
    return call({detail::collective_call::kind::reduce_scatter, elements.size(), 0, sizeof(T)}, elements.data(),
                nullptr, detail::reduce_scatter_part<T>);
  }

  /// Collective: starts to bring each rank's own of `size()` equal blocks to all.
  template <Element T>
  [[nodiscard]] request start_all_gather(std::span<T> elements) {
    detail::require_equal_blocks(elements.size(), size());
    return call({detail::collective_call::kind::gather_blocks, elements.size(), 0, sizeof(T)}, elements.data(), nullptr,
                detail::gather_blocks_part<T>);
  }

  /// Collective: starts to bring block j of rank i to rank j, as its block i, of `size()` equal blocks on each rank.
  template <Element T>
  [[nodiscard]] request start_all_to_all(std::span<T> elements) {
    detail::require_equal_blocks(elements.size(), size());
    return call({detail::collective_call::kind::exchange_blocks, elements.size(), 0, sizeof(T)}, elements.data(),
                nullptr, detail::exchange_blocks_part<T>);
  }

  /// Collective, blocking. Throws as `request::wait` does.
  void broadcast(std::span<std::byte> bytes, int root) {
    if (root < 0 || root >= size())
      throw communication_error("syncopate: there is no rank " + std::to_string(root) + " to broadcast from among " +
                                std::to_string(size()));
    call({detail::collective_call::kind::broadcast, bytes.size(), root}, bytes.data(), nullptr,
         [](auto all, std::size_t) noexcept {
           const auto& from = all[static_cast<std::size_t>(all[0].call.root)];
           for (const auto& other : all)
             if (&other != &from)
               std::copy_n(static_cast<const std::byte*>(from.data), from.call.size,
                           static_cast<std::byte*>(other.data));
         })
        .wait();
  }

  /// Collective, blocking: every rank's `own`, one after the other. Throws as `request::wait` does.
  void all_gather(std::span<const std::byte> own, std::span<std::byte> all) {
    if (all.size() != own.size() * channel_->ranks())
      throw communication_error("syncopate: an all_gather of " + std::to_string(own.size()) + " bytes per rank from " +
                                std::to_string(size()) + " ranks does not fit " + std::to_string(all.size()) +
                                " bytes");
    call({detail::collective_call::kind::all_gather, own.size()}, all.data(), own.data(),
         [](auto every, std::size_t) noexcept {
           for (const auto& to : every) {
             auto* place = static_cast<std::byte*>(to.data);
             for (const auto& from : every)
               place = std::copy_n(static_cast<const std::byte*>(from.own), from.call.size, place);
           }
         })
        .wait();
  }

  /// This rank goes no further, on any channel of the team: the others get a `peer_failure` with this text in every
  /// operation that this rank has not called. What the first rank to fail says is what they hear. Not collective. Does
  /// nothing without a text: if it is an exception that ends this rank, `thread_team::run` will know more.
  void fail(std::string_view what) const noexcept {
    if (!what.empty()) channel_->team()->fail(rank_, what);
  }

 private:
  friend class thread_team;
  thread_communicator(std::shared_ptr<detail::thread_channel> channel, std::size_t rank)
      : channel_(std::move(channel)), rank_(rank) {}

  request call(detail::collective_call what, void* data, const void* own,
               detail::collective_operation::work do_part) const {
    return {channel_, channel_->call(rank_, what, data, own, do_part), rank_};
  }

  std::shared_ptr<detail::thread_channel> channel_;
  std::size_t rank_;
};

/// Ranks as threads of one process: for tests, and to see communication overlap with computation on one machine.
///
///     syncopate::thread_team team{4, syncopate::link_model{.gigabits_per_second = 1, .latency_microseconds = 50}};
///     team.run([](syncopate::thread_communicator communicator) { … });
///
/// Sums are done at memory speed, in the order of ranks, by the ranks that test or wait. With a `link_model` they
/// moreover take as long as a ring all-reduce over such links would: a transfer starts when all ranks have called and
/// the transfer before it is over, whatever its channel, and whoever waits for its end sleeps. Broadcasts and gathers
/// take no modelled time.
class thread_team {
 public:
  /// A rank that waits gets a `stalled` once no rank has called anything on its channel for the stall limit, which says
  /// who is missing; 0 sets no limit.
  ///
  /// Throws `configuration_error` for less than one rank, and where link or limit make no sense.
  explicit thread_team(int ranks, std::optional<link_model> link = std::nullopt,
                       std::chrono::duration<double> stall_limit = std::chrono::seconds(60))
      : ranks_(ranks), link_(link), stall_limit_(stall_limit) {
    if (ranks < 1)
      throw configuration_error("syncopate: a thread_team needs at least 1 rank, not " + std::to_string(ranks));
    if (link) link->validate();
    detail::validate_stall_limit(stall_limit.count(), "stall limit of a thread_team, in seconds,");
  }

  int size() const { return ranks_; }

  /// Calls `function(thread_communicator)` on one new thread per rank and waits for all. If a rank throws, the others
  /// get a `peer_failure` at the first operation that it did not call, and `run` throws what the first one to fail
  /// threw (be it that it failed by `fail`). Each run starts afresh, also after one that failed. `function` is shared:
  /// ranks call it at the same time.
  template <class Function>
  void run(Function&& function) const {
    const auto team = std::make_shared<detail::team_state>(ranks_, link_, stall_limit_.count());
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
  std::chrono::duration<double> stall_limit_;
};

}  // namespace syncopate
