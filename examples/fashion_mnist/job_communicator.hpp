#pragma once

#include "syncopate/communicators/thread_team.hpp"

#ifdef SYNCOPATE_EXAMPLE_MPI

#include <chrono>
#include <cstddef>
#include <span>
#include <string_view>
#include <utility>
#include <variant>

#include "syncopate/communicators/boost_mpi.hpp"
#include "syncopate/concepts.hpp"

namespace fashion_mnist {

/// Ranks that are threads or processes of MPI, as the command line says: one type, so that a scheme is compiled once.
class job_communicator {
 public:
  class request {
   public:
    template <class R>
    explicit request(R started) : started_(std::move(started)) {}

    bool test() {
      return std::visit([](auto& started) { return started.test(); }, started_);
    }
    void wait() {
      std::visit([](auto& started) { started.wait(); }, started_);
    }
    std::chrono::steady_clock::time_point landed_at() const {
      return std::visit([](const auto& started) { return started.landed_at(); }, started_);
    }

   private:
    std::variant<syncopate::thread_communicator::request, syncopate::boost_mpi::request> started_;
  };

  template <class Communicator>
  explicit job_communicator(Communicator ranks) : ranks_(std::move(ranks)) {}

  int rank() const {
    return std::visit([](const auto& ranks) { return ranks.rank(); }, ranks_);
  }
  int size() const {
    return std::visit([](const auto& ranks) { return ranks.size(); }, ranks_);
  }
  job_communicator duplicate() const {
    return std::visit([](const auto& ranks) { return job_communicator(ranks.duplicate()); }, ranks_);
  }
  template <syncopate::Element T>
  request start_sum(std::span<T> elements) {
    return std::visit([&](auto& ranks) { return request(ranks.start_sum(elements)); }, ranks_);
  }
  template <syncopate::Element T>
  request start_reduce_scatter(std::span<T> elements) {
    return std::visit([&](auto& ranks) { return request(ranks.start_reduce_scatter(elements)); }, ranks_);
  }
  template <syncopate::Element T>
  request start_all_gather(std::span<T> elements) {
    return std::visit([&](auto& ranks) { return request(ranks.start_all_gather(elements)); }, ranks_);
  }
  template <syncopate::Element T>
  request start_all_to_all(std::span<T> elements) {
    return std::visit([&](auto& ranks) { return request(ranks.start_all_to_all(elements)); }, ranks_);
  }
  void broadcast(std::span<std::byte> bytes, int root) {
    std::visit([&](auto& ranks) { ranks.broadcast(bytes, root); }, ranks_);
  }
  void all_gather(std::span<const std::byte> own, std::span<std::byte> all) {
    std::visit([&](auto& ranks) { ranks.all_gather(own, all); }, ranks_);
  }
  void fail(std::string_view what) noexcept {
    std::visit([&](auto& ranks) { ranks.fail(what); }, ranks_);
  }

 private:
  std::variant<syncopate::thread_communicator, syncopate::boost_mpi> ranks_;
};

}  // namespace fashion_mnist

#else

namespace fashion_mnist {
using job_communicator = syncopate::thread_communicator;
}

#endif
