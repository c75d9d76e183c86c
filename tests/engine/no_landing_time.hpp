#pragma once

#include <cstddef>
#include <span>
#include <utility>

#include "syncopate/communicators/thread_team.hpp"

namespace support {

/// A communicator as a user might write it: its requests do not tell when they landed.
class no_landing_time {
 public:
  class request {
   public:
    explicit request(syncopate::thread_communicator::request inner) : inner_(std::move(inner)) {}
    bool test() { return inner_.test(); }
    void wait() { inner_.wait(); }

   private:
    syncopate::thread_communicator::request inner_;
  };

  explicit no_landing_time(syncopate::thread_communicator inner) : inner_(std::move(inner)) {}

  int rank() const { return inner_.rank(); }
  int size() const { return inner_.size(); }
  no_landing_time duplicate() const { return no_landing_time(inner_.duplicate()); }
  template <syncopate::Element T>
  request start_sum(std::span<T> elements) {
    return request(inner_.start_sum(elements));
  }
  void broadcast(std::span<std::byte> bytes, int root) { inner_.broadcast(bytes, root); }
  void all_gather(std::span<const std::byte> own, std::span<std::byte> all) { inner_.all_gather(own, all); }

 private:
  syncopate::thread_communicator inner_;
};

}  // namespace support
