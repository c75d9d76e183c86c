#pragma once

#include <mpi.h>

#include <algorithm>
#include <climits>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "../elements/buffer.hpp"
#include "operation.hpp"

namespace syncopate::detail {

/// A non-blocking collective of the MPI library; a sum is cut into pieces of at most `largest_count` elements. MPI may
/// write to its memory until it has ended, which a rank need not wait for: of what is done to a caller's elements that
/// memory is the caller's, of all else its own.
class library_call final : public mpi_operation {
 public:
  using kind = collective_call::kind;

  /// Precondition, unless it is a sum: a block is at most `largest_count` elements long.
  void set_movement(kind what, MPI_Comm communicator, int rank, int ranks, const mpi_elements& elements,
                    std::size_t largest_count) {
    set(what, communicator, elements, what == kind::sum ? largest_count : std::max<std::size_t>(elements.count, 1));
    bytes_sent_ = least_bytes(what, elements, ranks);
    block_ = elements.count / static_cast<std::size_t>(ranks);
    own_ = elements.data + static_cast<std::size_t>(rank) * block_ * elements.bytes_each;
    const std::size_t scratch = what == kind::reduce_scatter    ? block_
                                : what == kind::exchange_blocks ? elements.count
                                                                : 0;
    if (scratch_.size() < scratch * elements.bytes_each) scratch_ = buffer<std::byte>(scratch * elements.bytes_each);
    if (what == kind::exchange_blocks) std::copy_n(elements.data, elements.bytes(), scratch_.data());
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
    set(kind::all_gather, communicator, elements_of_mpi(staged()), std::max<std::size_t>(bytes_per_rank, 1));
    block_ = bytes_per_rank;
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
    if (kind_ == kind::reduce_scatter) std::copy_n(scratch_.data(), block_ * elements_.bytes_each, own_);
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
      if (count == 0 && kind_ != kind::sum && kind_ != kind::duplicate) break;
      requests_.push_back(MPI_REQUEST_NULL);
      start_piece(elements_.data + first * elements_.bytes_each, static_cast<int>(count));
      if (kind_ == kind::all_gather) break;
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
        case kind::reduce_scatter:
          return MPI_Ireduce_scatter_block(data, scratch_.data(), static_cast<int>(block_), elements_.type, MPI_SUM,
                                           communicator_, &request);
        case kind::gather_blocks:
        case kind::all_gather:
          return MPI_Iallgather(MPI_IN_PLACE, 0, MPI_BYTE, data, static_cast<int>(block_), elements_.type,
                                communicator_, &request);
        case kind::exchange_blocks:
          return MPI_Ialltoall(scratch_.data(), static_cast<int>(block_), elements_.type, data,
                               static_cast<int>(block_), elements_.type, communicator_, &request);
        case kind::duplicate:
        case kind::creation:
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
      case kind::reduce_scatter:
        return "reduce and scatter";
      case kind::gather_blocks:
      case kind::all_gather:
        return "gather";
      case kind::exchange_blocks:
        return "exchange blocks";
      case kind::duplicate:
      case kind::creation:
        break;
    }
    return "duplicate a communicator";
  }

  kind kind_ = kind::sum;
  MPI_Comm communicator_ = MPI_COMM_NULL;
  mpi_elements elements_;
  std::size_t largest_count_ = 1;
  int root_ = 0;
  std::size_t block_ = 0;      ///< elements of one rank, where each has some
  std::byte* own_ = nullptr;   ///< where this rank's block of a reduce_scatter belongs
  buffer<std::byte> scratch_;  ///< where MPI puts it, or takes blocks from that are exchanged
  std::vector<std::byte> staged_;
  MPI_Comm duplicate_ = MPI_COMM_NULL;
  std::size_t bytes_sent_ = 0;
  bool started_ = false;
  std::vector<MPI_Request> requests_;
};

}  // namespace syncopate::detail
