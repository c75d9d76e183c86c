#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>

#include "../../concepts.hpp"
#include "../../statistics.hpp"
#include "../elements/slice.hpp"

namespace syncopate::detail {

/// What ranks do with the elements of a message. All but a sum work on one block for each rank.
enum class collective { sum, reduce_scatter, all_gather, all_to_all };

/// An operation in flight, of whichever communicator: one at a time, started again and again.
class flight {
 public:
  using time_point = std::chrono::steady_clock::time_point;

  virtual ~flight() = default;
  /// Collective. The memory is the operation's until it is complete, also where this throws. Whether it is in flight
  /// now: if `at_once`, and the communicator has a blocking call for it, all is done on return.
  virtual bool start(collective how, void* elements, std::size_t count, bool at_once) = 0;
  /// Whether it is complete, or was never started.
  virtual bool test() = 0;
  virtual void wait() = 0;
  /// When it completed, if the communicator knows better than whoever noticed. Precondition: a test has just found it.
  virtual std::optional<time_point> landed_at() const = 0;
};

/// A scheme's communicator, of whichever type; for its operations see `Communicator`.
class wire {
 public:
  virtual ~wire() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  /// Whether its sums come in halves.
  virtual bool in_halves() const = 0;
  /// For elements of that size. To be made once, and used for one message after the other.
  virtual std::unique_ptr<flight> make_flight(std::size_t element_bytes) = 0;
  virtual void broadcast(std::span<std::byte> bytes, int root) = 0;
  virtual void all_gather(std::span<const std::byte> own, std::span<std::byte> all) = 0;
  virtual void fail(std::string_view why) noexcept = 0;
  virtual communication_cost cost() const = 0;
  /// The time from which all statistics are taken.
  virtual flight::time_point now() const = 0;
};

/// Of a communicator, whose blocking and split sums it uses where there are some.
template <class C, class T>
class flight_of final : public flight {
  using request = decltype(std::declval<C&>().start_sum(std::span<T>()));  // of sums' halves, too

 public:
  explicit flight_of(C& communicator) : communicator_(communicator) {}

  bool start(collective how, void* elements, std::size_t count, bool at_once) override {
    const std::span<T> all(static_cast<T*>(elements), count);
    landed_at_.reset();
    request_.reset();
    if constexpr (requires { communicator_.sum(all); })
      if (how == collective::sum && at_once) {
        communicator_.sum(all);
        return false;
      }
    if (how == collective::sum) request_.emplace(communicator_.start_sum(all));
    if constexpr (ShardingCommunicator<C, T>) {
      if (how == collective::reduce_scatter) request_.emplace(communicator_.start_reduce_scatter(all));
      if (how == collective::all_gather) request_.emplace(communicator_.start_all_gather(all));
      if (how == collective::all_to_all) request_.emplace(communicator_.start_all_to_all(all));
    }
    return true;
  }
  bool test() override {
    if (!request_) return true;
    if (!request_->test()) return false;
    if constexpr (requires { request_->landed_at(); }) landed_at_ = request_->landed_at();
    request_.reset();
    return true;
  }
  void wait() override {
    if (request_) request_->wait();
    request_.reset();
  }
  std::optional<time_point> landed_at() const override { return landed_at_; }

 private:
  C& communicator_;
  std::optional<request> request_;
  std::optional<time_point> landed_at_;
};

template <class C, class... T>
class wire_of final : public wire {
 public:
  explicit wire_of(C communicator) : communicator_(std::move(communicator)) {}

  C& communicator() { return communicator_; }

  int rank() const override { return communicator_.rank(); }
  int size() const override { return communicator_.size(); }
  bool in_halves() const override { return (ShardingCommunicator<C, T> && ...); }
  std::unique_ptr<flight> make_flight(std::size_t element_bytes) override {
    std::unique_ptr<flight> made;
    (void)((sizeof(T) == element_bytes && (made = std::make_unique<flight_of<C, T>>(communicator_))) || ...);
    return made;
  }
  void broadcast(std::span<std::byte> bytes, int root) override { communicator_.broadcast(bytes, root); }
  void all_gather(std::span<const std::byte> own, std::span<std::byte> all) override {
    communicator_.all_gather(own, all);
  }
  void fail(std::string_view why) noexcept override {
    if constexpr (requires { communicator_.fail(why); }) communicator_.fail(why);
  }
  communication_cost cost() const override {
    if constexpr (requires(const C& c) { c.cost(); })
      return std::as_const(communicator_).cost();
    else
      return {};
  }
  flight::time_point now() const override {
    if constexpr (requires(const C& c) { c.now(); })
      return std::as_const(communicator_).now();
    else
      return std::chrono::steady_clock::now();
  }

 private:
  C communicator_;
};

}  // namespace syncopate::detail
