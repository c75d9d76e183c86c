#pragma once

#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "../../communicators/mpi_options.hpp"
#include "../../error.hpp"
#include "../../statistics.hpp"
#include "../../tensor.hpp"
#include "../equal_blocks.hpp"
#include "channel.hpp"
#include "driver.hpp"

namespace syncopate::detail {

/// The ranks of an MPI communicator, whichever library made it; what `boost_mpi` is on top of Boost's.
class mpi_communicator {
 public:
  /// A sum, or a half of one, in flight.
  class request {
   public:
    request(request&& other) noexcept
        : channel_(std::move(other.channel_)), operation_(std::exchange(other.operation_, nullptr)) {}
    request& operator=(request other) noexcept {
      channel_.swap(other.channel_);
      std::swap(operation_, other.operation_);
      return *this;
    }
    ~request() {
      if (operation_) mpi_channel::let_go(*operation_, std::move(channel_));
    }

    bool test() { return !operation_ || mpi_driver::of_process().test(*operation_); }
    void wait() {
      if (operation_) mpi_driver::of_process().wait(*operation_);
    }
    /// When it was seen to be complete. Precondition: it is.
    std::chrono::steady_clock::time_point landed_at() const { return operation_->landed_at(); }

   private:
    friend mpi_communicator;
    request(std::shared_ptr<mpi_channel> channel, mpi_operation& operation)
        : channel_(std::move(channel)), operation_(&operation) {}

    std::shared_ptr<mpi_channel> channel_;
    mpi_operation* operation_;
  };

  mpi_communicator(MPI_Comm original, const mpi_options& options)
      : channel_(std::make_shared<mpi_channel>(original, options)) {}

  int rank() const { return channel_->rank(); }
  int size() const { return channel_->size(); }
  mpi_communicator duplicate() const { return mpi_communicator(std::make_shared<mpi_channel>(*channel_)); }

  template <Element T>
  [[nodiscard]] request start_sum(std::span<T> elements) {
    return request(channel_, channel_->start(movement::sum, elements_of_mpi(elements), false));
  }
  template <Element T>
  [[nodiscard]] request start_reduce_scatter(std::span<T> elements) {
    require_equal_blocks(elements.size(), size());
    return request(channel_, channel_->start(movement::reduce_scatter, elements_of_mpi(elements), false));
  }
  template <Element T>
  [[nodiscard]] request start_all_gather(std::span<T> elements) {
    require_equal_blocks(elements.size(), size());
    return request(channel_, channel_->start(movement::gather_blocks, elements_of_mpi(elements), false));
  }
  template <Element T>
  [[nodiscard]] request start_all_to_all(std::span<T> elements) {
    require_equal_blocks(elements.size(), size());
    return request(channel_, channel_->start(movement::exchange_blocks, elements_of_mpi(elements), false));
  }

  template <Element T>
  void sum(std::span<T> elements) {
    if (!channel_->sum(elements_of_mpi(elements)))
      request(channel_, channel_->start(movement::sum, elements_of_mpi(elements), true)).wait();
  }

  void broadcast(std::span<std::byte> bytes, int root) { channel_->broadcast(bytes, root); }

  void all_gather(std::span<const std::byte> own, std::span<std::byte> all) {
    const auto ranks = static_cast<std::size_t>(size());
    if (all.size() != own.size() * ranks)
      throw communication_error("syncopate: an all_gather of " + std::to_string(own.size()) + " bytes per rank from " +
                                std::to_string(ranks) + " ranks does not fit " + std::to_string(all.size()) + " bytes");
    if (own.size() <= channel_->options().largest_count) {
      channel_->gather(own, all);
    } else {
      std::ranges::copy(own, all.subspan(static_cast<std::size_t>(rank()) * own.size()).begin());
      for (int root = 0; root < size(); ++root)
        broadcast(all.subspan(static_cast<std::size_t>(root) * own.size(), own.size()), root);
    }
  }

  void fail(std::string_view what) const noexcept { channel_->fail(what); }

  mpi_choice choice(std::size_t bytes) const { return choose(channel_->options(), channel_->facts(), bytes); }

  communication_cost cost() const {
    const mpi_traffic& traffic = channel_->traffic();
    return {traffic.bytes_sent, std::chrono::nanoseconds(traffic.nanoseconds)};
  }

 private:
  explicit mpi_communicator(std::shared_ptr<mpi_channel> channel) : channel_(std::move(channel)) {}

  std::shared_ptr<mpi_channel> channel_;
};

}  // namespace syncopate::detail
