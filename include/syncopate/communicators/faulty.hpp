#pragma once

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <type_traits>
#include <utility>

#include "../concepts.hpp"
#include "../detail/exchange/block_header.hpp"
#include "../detail/exchange/header.hpp"
#include "../error.hpp"
#include "fault_plan.hpp"

namespace syncopate {

/// Another communicator, with a planned fault; models `Communicator`. For tests of schemes, of policies, and of
/// programs that handle errors:
///
///     syncopate::fault_plan plan{.fault = syncopate::planned_fault::dropped, .rank = 1, .operation = 20};
///     syncopate::faulty_communicator faulty{communicator, plan};
///
/// All ranks are given the same plan. The fault happens on each channel that is duplicated from it, once; a rank that
/// has dropped out stays out. What the other ranks see of it is the inner communicator's business: it is told by
/// `fail`, if it has that. Everything that can be called throws what the plan says, and what the inner one throws.
template <class C>
class faulty_communicator {
  /// Of one channel. All calls on it come from one thread at a time.
  struct channel {
    fault_plan plan;
    int rank;
    std::int64_t operations = 0;
    std::int64_t newest_complete = -1;  ///< number of a sum
    bool struck = false;

    /// Whether the fault happens now; `operation` is the number of the call that it concerns.
    bool strikes(planned_fault fault, std::int64_t operation) {
      if (plan.fault != fault || plan.rank != rank || operation < plan.operation || struck) return false;
      return struck = true;
    }

    [[noreturn]] void fail() const { throw communication_error("syncopate: as planned, " + plan.text()); }

    /// A number that depends on the seed, the rank and the arguments, and on nothing else.
    std::uint64_t random(std::int64_t operation, std::uint64_t purpose) const {
      std::uint64_t x = plan.seed;
      for (const std::uint64_t y : {static_cast<std::uint64_t>(rank), static_cast<std::uint64_t>(operation), purpose}) {
        x = (x ^ y) + 0x9e3779b97f4a7c15u;
        x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
        x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
        x ^= x >> 31;
      }
      return x;
    }

    /// Whether a sum is one of those that are held up.
    bool holds_up(planned_fault fault, std::int64_t operation) const {
      return plan.fault == fault && static_cast<double>(random(operation, 0) >> 11) < plan.probability * 0x1p53;
    }

    void pause(std::int64_t operation, std::uint64_t purpose) const {
      std::this_thread::sleep_for(std::chrono::microseconds(random(operation, purpose) % 200));
    }
  };

 public:
  /// A sum in flight.
  template <class R>
  class request {
   public:
    bool test() {
      if (channel_->strikes(planned_fault::failed_test, number_)) channel_->fail();
      const bool complete = inner_.test();
      if (complete && refusals_ > 0 && channel_->newest_complete < number_) {
        --refusals_;
        return false;
      }
      if (complete) channel_->newest_complete = std::max(channel_->newest_complete, number_);
      return complete;
    }

    void wait() {
      if (channel_->strikes(planned_fault::failed_wait, number_)) channel_->fail();
      if (channel_->holds_up(planned_fault::slow, number_)) channel_->pause(number_, 1);
      inner_.wait();
      channel_->newest_complete = std::max(channel_->newest_complete, number_);
    }

   private:
    friend faulty_communicator;
    request(R inner, std::shared_ptr<channel> on, std::int64_t number)
        : inner_(std::move(inner)), channel_(std::move(on)), number_(number) {
      if (channel_->holds_up(planned_fault::slow, number)) refusals_ = 1 + channel_->random(number, 2) % 8;
      if (channel_->holds_up(planned_fault::reordered, number)) refusals_ = 16;  // who only tests shall get on
    }

    R inner_;
    std::shared_ptr<channel> channel_;
    std::int64_t number_;
    std::uint64_t refusals_ = 0;  ///< how often it still says that it is not complete, when it is
  };

  /// Throws `configuration_error` for a plan that makes no sense. Not collective.
  faulty_communicator(C inner, const fault_plan& plan)
      : inner_(std::move(inner)), channel_(std::make_shared<channel>(channel{plan, inner_.rank()})) {
    plan.validate();
  }

  int rank() const { return inner_.rank(); }
  int size() const { return inner_.size(); }

  const fault_plan& plan() const { return channel_->plan; }

  /// Whether the fault has happened to this rank, on this channel.
  bool struck() const { return channel_->struck; }

  /// Collective. The same plan on a channel of its own.
  faulty_communicator duplicate() const { return {inner_.duplicate(), plan()}; }

  template <Element T>
  [[nodiscard]] auto start_sum(std::span<T> elements) {
    const std::int64_t number = begin_sum(elements, sum_header());
    return in_flight(inner_.start_sum(elements), number);
  }

  template <Element T>
  [[nodiscard]] auto start_reduce_scatter(std::span<T> elements) requires requires(C& inner) {
    inner.start_reduce_scatter(elements);
  }
  {
    const std::size_t block = elements.size() / static_cast<std::size_t>(size());
    const std::uint64_t struck = channel_->random(channel_->operations, 6) % static_cast<std::uint64_t>(size());
    const std::int64_t number = begin_sum(elements.subspan(struck * block, block), detail::block_header_elements);
    return in_flight(inner_.start_reduce_scatter(elements), number);
  }

  template <Element T>
  [[nodiscard]] auto start_all_gather(std::span<T> elements) requires requires(C& inner) {
    inner.start_all_gather(elements);
  }
  {
    const std::size_t block = elements.size() / static_cast<std::size_t>(size());
    const std::int64_t number =
        begin_sum(elements.subspan(static_cast<std::size_t>(rank()) * block, block), detail::block_header_elements);
    return in_flight(inner_.start_all_gather(elements), number);
  }

  template <Element T>
  void sum(std::span<T> elements) requires requires(C& inner) {
    inner.sum(elements);
  }
  {
    const std::int64_t number = begin_sum(elements, sum_header());
    if (channel_->strikes(planned_fault::failed_wait, number)) channel_->fail();
    inner_.sum(elements);
  }

  template <Element T>
  [[nodiscard]] auto start_all_to_all(std::span<T> elements) requires requires(C& inner) {
    inner.start_all_to_all(elements);
  }
  {
    const std::int64_t number = begin_sum(elements.first(0), 0);  // there is no header in it
    return in_flight(inner_.start_all_to_all(elements), number);
  }

  void broadcast(std::span<std::byte> bytes, int root) {
    begin();
    inner_.broadcast(bytes, root);
  }

  void all_gather(std::span<const std::byte> own, std::span<std::byte> all) {
    begin();
    inner_.all_gather(own, all);
  }

  void fail(std::string_view what) noexcept requires requires(C& inner) { inner.fail(what); }
  { inner_.fail(what); }

  auto cost() const requires requires(const C& inner) { inner.cost(); }
  { return inner_.cost(); }

  auto now() const requires requires(const C& inner) { inner.now(); }
  { return inner_.now(); }

 private:
  template <class R>
  request<R> in_flight(R started, std::int64_t number) const {
    return request<R>(std::move(started), channel_, number);
  }

  /// The number of the call that begins.
  std::int64_t begin() {
    const std::int64_t number = channel_->operations++;
    if (channel_->plan.fault == planned_fault::dropped &&
        (channel_->struck || channel_->strikes(planned_fault::dropped, number))) {
      const std::string text = "syncopate: as planned, " + plan().text();
      if constexpr (requires { inner_.fail(text); }) inner_.fail(text);
      throw planned_dropout(text);
    }
    return number;
  }

  std::size_t sum_header() const { return detail::header_elements * static_cast<std::size_t>(size()); }

  /// `header`: how many elements at the end a scheme's header takes, unless the plan knows better.
  template <Element T>
  std::int64_t begin_sum(std::span<T> elements, std::size_t header) {
    const std::int64_t number = begin();
    if (channel_->holds_up(planned_fault::slow, number)) channel_->pause(number, 3);
    if (channel_->strikes(planned_fault::failed_start, number)) channel_->fail();
    if (plan().header_elements > 0) header = plan().header_elements;
    if (const std::size_t last = std::min(elements.size(), header);
        last > 0 && channel_->strikes(planned_fault::corrupted_header, number)) {
      using bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
      T& element = elements[elements.size() - 1 - channel_->random(number, 4) % last];
      element =
          std::bit_cast<T>(std::bit_cast<bits>(element) ^ (bits{1} << channel_->random(number, 5) % (8 * sizeof(T))));
    }
    return number;
  }

  C inner_;
  std::shared_ptr<channel> channel_;
};

template <class C>
faulty_communicator(C, const fault_plan&) -> faulty_communicator<C>;

}  // namespace syncopate
