#pragma once

#include <mpi.h>

#include <algorithm>
#include <climits>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "operation.hpp"

namespace syncopate::detail {

/// A non-blocking collective of the MPI library; a sum is cut into pieces of at most `largest_count` elements. MPI may
/// write to its memory until it has ended, which a rank need not wait for: of all but sums that memory is its own.
class library_call final : public mpi_operation {
 public:
  enum class kind { sum, broadcast, gather, duplicate };

  void set_sum(MPI_Comm communicator, int ranks, const mpi_elements& elements, std::size_t largest_count) {
    set(kind::sum, communicator, elements, largest_count);
    bytes_sent_ = least_bytes_of_sum(elements, ranks);
  }
  /// The root puts into `staged` what all find there.
  void set_broadcast(MPI_Comm communicator, int root, std::size_t bytes) {
    staged_.resize(bytes);
    set(kind::broadcast, communicator, elements_of_mpi(staged()), INT_MAX);
    root_ = root;
  }
  /// Each rank puts its bytes into its place in `staged`, one rank's after the other's, where all find those of all.
  void set_gather(MPI_Comm communicator, int ranks, std::size_t bytes_per_rank) {
    staged_.resize(bytes_per_rank * static_cast<std::size_t>(ranks));
    set(kind::gather, communicator, elements_of_mpi(staged()), std::max<std::size_t>(bytes_per_rank, 1));
  }
  void set_duplicate(MPI_Comm communicator) { set(kind::duplicate, communicator, {}, 1); }

  std::span<std::byte> staged() { return staged_; }
  void free_staged() { staged_ = {}; }
  MPI_Comm duplicate() const { return duplicate_; }

  mpi_advance advance() override {
    bool moved = !started_;
    if (!started_) start();
    for (MPI_Request& request : requests_) {
      if (request == MPI_REQUEST_NULL) continue;
      int done = 0;
      const auto before = clock::now();
      check_mpi(MPI_Test(&request, &done, MPI_STATUS_IGNORE), attempt());
      // MPI does not say whether it moved something; but looking in vain is quick.
      moved = moved || done || clock::now() - before > std::chrono::microseconds(3);
      if (!done) return moved ? mpi_advance::little : mpi_advance::nothing;
      has_moved();
    }
    return mpi_advance::all;
  }

  std::size_t bytes_sent() const override { return bytes_sent_; }

 private:
  void set(kind what, MPI_Comm communicator, const mpi_elements& elements, std::size_t largest_count) {
    kind_ = what;
    communicator_ = communicator;
    elements_ = elements;
    largest_count_ = largest_count;
    bytes_sent_ = 0;
    started_ = false;
    requests_.clear();
    requests_.reserve(elements.count / largest_count + 1);
  }

  void start() {
    started_ = true;
    std::size_t first = 0;
    do {
      const std::size_t count = std::min(elements_.count - first, largest_count_);
      if (count == 0 && (kind_ == kind::broadcast || kind_ == kind::gather)) break;
      requests_.push_back(MPI_REQUEST_NULL);
      start_piece(elements_.data + first * elements_.bytes_each, static_cast<int>(count));
      if (kind_ == kind::gather) break;
      first += count;
    } while (first < elements_.count);
  }

  void start_piece(std::byte* data, int count) {
    MPI_Request& request = requests_.back();
    const auto start = [&] {
      switch (kind_) {
        case kind::sum:
          return MPI_Iallreduce(MPI_IN_PLACE, data, count, elements_.type, MPI_SUM, communicator_, &request);
        case kind::broadcast:
          return MPI_Ibcast(data, count, elements_.type, root_, communicator_, &request);
        case kind::gather:
          return MPI_Iallgather(MPI_IN_PLACE, 0, MPI_BYTE, data, count, elements_.type, communicator_, &request);
        case kind::duplicate:
          break;
      }
      return MPI_Comm_idup(communicator_, &duplicate_, &request);
    };
    check_mpi(start(), attempt(), static_cast<std::size_t>(count));
  }

  const char* attempt() const {
    switch (kind_) {
      case kind::sum:
        return "sum";
      case kind::broadcast:
        return "broadcast";
      case kind::gather:
        return "gather";
      case kind::duplicate:
        break;
    }
    return "duplicate a communicator";
  }

  kind kind_ = kind::sum;
  MPI_Comm communicator_ = MPI_COMM_NULL;
  mpi_elements elements_;
  std::size_t largest_count_ = 1;
  int root_ = 0;
  std::vector<std::byte> staged_;
  MPI_Comm duplicate_ = MPI_COMM_NULL;
  std::size_t bytes_sent_ = 0;
  bool started_ = false;
  std::vector<MPI_Request> requests_;
};

}  // namespace syncopate::detail
