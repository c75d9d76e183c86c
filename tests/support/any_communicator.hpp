#pragma once

#include <concepts>
#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>
#include <span>
#include <stdexcept>
#include <utility>

#include "syncopate/concepts.hpp"

namespace support {

/// Any communicator behind one type, so that what runs on all of them is compiled once. Its requests do not tell when
/// they landed, as those of a communicator that a user might write.
class any_communicator {
  struct operation {
    virtual ~operation() = default;
    // Not through the global operator new, so that tests can count what a scheme allocates.
    static void* operator new(std::size_t size) {
      if (void* memory = std::malloc(size)) return memory;
      throw std::bad_alloc();
    }
    static void operator delete(void* memory) { std::free(memory); }
    virtual bool test() = 0;
    virtual void wait() = 0;
  };

 public:
  class request {
   public:
    explicit request(std::unique_ptr<operation> started) : started_(std::move(started)) {}
    bool test() { return started_->test(); }
    void wait() { started_->wait(); }

   private:
    std::unique_ptr<operation> started_;
  };

  template <class C>
  requires(!std::same_as<C, any_communicator>) explicit any_communicator(C communicator)
      : held_(std::make_unique<holder<C>>(std::move(communicator))) {}

  int rank() const { return held_->rank(); }
  int size() const { return held_->size(); }
  any_communicator duplicate() const { return any_communicator(held_->duplicate()); }
  template <syncopate::Element T>
  request start_sum(std::span<T> elements) {
    return request(held_->start_sum(elements));
  }
  template <syncopate::Element T>
  request start_reduce_scatter(std::span<T> elements) {
    return request(held_->start_reduce_scatter(elements));
  }
  template <syncopate::Element T>
  request start_all_gather(std::span<T> elements) {
    return request(held_->start_all_gather(elements));
  }
  template <syncopate::Element T>
  request start_all_to_all(std::span<T> elements) {
    return request(held_->start_all_to_all(elements));
  }
  void broadcast(std::span<std::byte> bytes, int root) { held_->broadcast(bytes, root); }
  void all_gather(std::span<const std::byte> own, std::span<std::byte> all) { held_->all_gather(own, all); }

 private:
  struct interface {
    virtual ~interface() = default;
    virtual int rank() const = 0;
    virtual int size() const = 0;
    virtual std::unique_ptr<interface> duplicate() const = 0;
    virtual std::unique_ptr<operation> start_sum(std::span<float>) = 0;
    virtual std::unique_ptr<operation> start_sum(std::span<double>) = 0;
    virtual std::unique_ptr<operation> start_reduce_scatter(std::span<float>) = 0;
    virtual std::unique_ptr<operation> start_reduce_scatter(std::span<double>) = 0;
    virtual std::unique_ptr<operation> start_all_gather(std::span<float>) = 0;
    virtual std::unique_ptr<operation> start_all_gather(std::span<double>) = 0;
    virtual std::unique_ptr<operation> start_all_to_all(std::span<float>) = 0;
    virtual std::unique_ptr<operation> start_all_to_all(std::span<double>) = 0;
    virtual void broadcast(std::span<std::byte>, int root) = 0;
    virtual void all_gather(std::span<const std::byte>, std::span<std::byte>) = 0;
  };

  template <class R>
  struct held_operation final : operation {
    explicit held_operation(R started) : started_(std::move(started)) {}
    bool test() override { return started_.test(); }
    void wait() override { started_.wait(); }
    R started_;
  };

  template <class C>
  struct holder final : interface {
    explicit holder(C communicator) : communicator_(std::move(communicator)) {}
    int rank() const override { return communicator_.rank(); }
    int size() const override { return communicator_.size(); }
    std::unique_ptr<interface> duplicate() const override {
      return std::make_unique<holder>(communicator_.duplicate());
    }
    std::unique_ptr<operation> start_sum(std::span<float> elements) override {
      return started(communicator_.start_sum(elements));
    }
    std::unique_ptr<operation> start_sum(std::span<double> elements) override {
      return started(communicator_.start_sum(elements));
    }
    std::unique_ptr<operation> start_reduce_scatter(std::span<float> elements) override { return scatter(elements); }
    std::unique_ptr<operation> start_reduce_scatter(std::span<double> elements) override { return scatter(elements); }
    std::unique_ptr<operation> start_all_gather(std::span<float> elements) override { return gather(elements); }
    std::unique_ptr<operation> start_all_gather(std::span<double> elements) override { return gather(elements); }
    std::unique_ptr<operation> start_all_to_all(std::span<float> elements) override { return exchange(elements); }
    std::unique_ptr<operation> start_all_to_all(std::span<double> elements) override { return exchange(elements); }
    void broadcast(std::span<std::byte> bytes, int root) override { communicator_.broadcast(bytes, root); }
    void all_gather(std::span<const std::byte> own, std::span<std::byte> all) override {
      communicator_.all_gather(own, all);
    }
    template <class T>
    std::unique_ptr<operation> scatter(std::span<T> elements) {
      if constexpr (syncopate::ShardingCommunicator<C, T>)
        return started(communicator_.start_reduce_scatter(elements));
      else
        throw std::logic_error("this communicator cannot sum by halves");
    }
    template <class T>
    std::unique_ptr<operation> gather(std::span<T> elements) {
      if constexpr (syncopate::ShardingCommunicator<C, T>)
        return started(communicator_.start_all_gather(elements));
      else
        throw std::logic_error("this communicator cannot sum by halves");
    }
    template <class T>
    std::unique_ptr<operation> exchange(std::span<T> elements) {
      if constexpr (syncopate::ShardingCommunicator<C, T>)
        return started(communicator_.start_all_to_all(elements));
      else
        throw std::logic_error("this communicator cannot sum by halves");
    }
    template <class R>
    static std::unique_ptr<operation> started(R request) {
      return std::make_unique<held_operation<R>>(std::move(request));
    }
    C communicator_;
  };

  explicit any_communicator(std::unique_ptr<interface> held) : held_(std::move(held)) {}

  std::unique_ptr<interface> held_;
};

static_assert(syncopate::ShardingCommunicator<any_communicator, float>);
static_assert(syncopate::ShardingCommunicator<any_communicator, double>);

}  // namespace support
