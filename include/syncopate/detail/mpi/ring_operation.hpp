#pragma once

#include <mpi.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>

#include "../elements/buffer.hpp"
#include "operation.hpp"

namespace syncopate::detail {

/// A sum over P ranks, in place, as a ring, or one half of it: P − 1 rounds of reduce-scatter, then P − 1 of
/// all-gather. In each round a rank sends one of P blocks to its right and receives another from its left. Patarasu and
/// Yuan, Bandwidth optimal all-reduce algorithms for clusters of workstations, 2009.
///
/// Blocks are cut into chunks. A chunk is added as soon as it is here, and goes on to the right at once: messages flow
/// in both directions all the time, also from one round to the next. Every element is summed by one order of ranks and
/// handed on, so that the result is bitwise the same on all of them.
class ring_operation final : public mpi_operation {
 public:
  /// The next one; the one before has to be over. `tag` is its own among those in flight on the communicator.
  void set(movement what, MPI_Comm communicator, int rank, int ranks, int tag, const mpi_elements& elements,
           std::size_t chunk_bytes) {
    communicator_ = communicator;
    rank_ = static_cast<std::size_t>(rank);
    // In a sum, the block that a rank ends up with halfway is the next one's.
    first_block_ = rank_ + static_cast<std::size_t>(ranks) - (what == movement::sum ? 0 : 1);
    ranks_ = static_cast<std::size_t>(ranks);
    tag_ = tag;
    attempt_ = what == movement::sum              ? "continue a sum"
               : what == movement::reduce_scatter ? "continue a reduce_scatter"
                                                  : "continue an all_gather";
    elements_ = elements;
    // At least a few chunks per block, so that its first ones travel on while its last ones arrive.
    const std::size_t largest_block = (elements.count + ranks_ - 1) / ranks_;
    chunk_ = std::clamp(largest_block / 8, std::min(smallest_chunk_bytes, chunk_bytes) / elements.bytes_each,
                        chunk_bytes / elements.bytes_each);
    chunk_ = std::max<std::size_t>(chunk_, 1);
    chunks_ = (largest_block + chunk_ - 1) / chunk_;
    const std::size_t half = (ranks_ - 1) * chunks_;
    first_ = what == movement::gather_blocks ? half : 0;
    all_ = what == movement::reduce_scatter ? half : 2 * half;
    expected_ = received_ = posted_ = sent_ = first_;
    bytes_sent_ = 0;
    requests_.fill(MPI_REQUEST_NULL);
    if (arriving_.size() < window * chunk_ * elements.bytes_each)
      arriving_ = buffer<std::byte>(window * chunk_ * elements.bytes_each);
  }

  mpi_advance advance() override {
    std::size_t moved = expected_ == first_ ? 1 : 0;
    post();
    while (received_ < all_ || sent_ < all_) {
      std::array<MPI_Status, 2 * window> statuses;
      std::array<int, 2 * window> places;
      int completed = 0;
      const int code = MPI_Testsome(2 * window, requests_.data(), &completed, places.data(), statuses.data());
      check_mpi(code, std::span(statuses).first(static_cast<std::size_t>(std::max(completed, 0))), attempt_);
      if (completed <= 0)
        return moved == 0 ? mpi_advance::nothing : moved < few ? mpi_advance::little : mpi_advance::much;
      moved += static_cast<std::size_t>(completed);
      has_moved();
      while (received_ < expected_ && requests_[received_ % window] == MPI_REQUEST_NULL) {
        if (adds(received_)) {
          const place here = received_place(received_);
          elements_.add(at(here), scratch(received_), here.count);
        }
        ++received_;
      }
      while (sent_ < posted_ && requests_[window + sent_ % window] == MPI_REQUEST_NULL) ++sent_;
      post();
    }
    return mpi_advance::all;
  }

  std::size_t bytes_sent() const override { return bytes_sent_; }

 private:
  /// Messages that are posted ahead in each direction, so that the network never waits for us.
  static constexpr std::size_t window = 32;
  /// Who finds more than this done at once should look more often: networks' buffers, too, want to be refilled.
  static constexpr std::size_t few = 3;
  static constexpr std::size_t smallest_chunk_bytes = std::size_t{16} << 10;

  struct place {
    std::size_t begin, count;
  };

  // In either direction the messages form one sequence: round by round, and within a round chunk by chunk.

  /// Where chunk `number % chunks_` of a block lies.
  place chunk_of(std::size_t block, std::size_t number) const {
    const std::size_t small = elements_.count / ranks_, larger = elements_.count % ranks_;
    const std::size_t begin = block * small + std::min(block, larger), size = small + (block < larger ? 1 : 0);
    const std::size_t offset = std::min(number % chunks_ * chunk_, size);
    return {begin + offset, std::min(chunk_, size - offset)};
  }
  place sent_place(std::size_t number) const {
    return chunk_of((first_block_ + 2 * ranks_ - number / chunks_) % ranks_, number);
  }
  place received_place(std::size_t number) const {
    return chunk_of((first_block_ + 2 * ranks_ - 1 - number / chunks_) % ranks_, number);
  }
  /// Whether a message that arrives is added to what is here, and not stored in its place.
  bool adds(std::size_t number) const { return number < (ranks_ - 1) * chunks_; }

  std::byte* at(place where) const { return elements_.data + where.begin * elements_.bytes_each; }
  std::byte* scratch(std::size_t number) const {
    return arriving_.data() + number % window * chunk_ * elements_.bytes_each;
  }

  /// Posts whatever can be posted.
  void post() {
    const auto left = static_cast<int>((rank_ + ranks_ - 1) % ranks_), right = static_cast<int>((rank_ + 1) % ranks_);
    for (; expected_ < all_ && expected_ < received_ + window; ++expected_) {
      // What is stored in place must not meet a message that still leaves from there.
      if (!adds(expected_) && expected_ >= sent_ + (ranks_ - 1) * chunks_) break;
      const place here = received_place(expected_);
      check_mpi(MPI_Irecv(adds(expected_) ? scratch(expected_) : at(here), static_cast<int>(here.count), elements_.type,
                          left, tag_, communicator_, &requests_[expected_ % window]),
                "receive", here.count);
    }
    // After the first round a rank sends what it has received.
    for (; posted_ < all_ && posted_ < sent_ + window && posted_ < received_ + chunks_; ++posted_) {
      const place here = sent_place(posted_);
      check_mpi(MPI_Isend(at(here), static_cast<int>(here.count), elements_.type, right, tag_, communicator_,
                          &requests_[window + posted_ % window]),
                "send", here.count);
      bytes_sent_ += here.count * elements_.bytes_each;
    }
  }

  MPI_Comm communicator_ = MPI_COMM_NULL;
  std::size_t rank_ = 0, ranks_ = 1;
  int tag_ = 0;
  const char* attempt_ = "";
  mpi_elements elements_;
  std::size_t chunk_ = 1, chunks_ = 0;  ///< elements of a chunk, chunks of a block
  std::size_t first_block_ = 0;         ///< that it sends; in the first half, if there is one
  std::size_t first_ = 0, all_ = 0;     ///< number of the first message, and beyond the last one, in each direction
  std::size_t expected_ = 0, received_ = 0, posted_ = 0, sent_ = 0;
  std::size_t bytes_sent_ = 0;
  std::array<MPI_Request, 2 * window> requests_;  ///< receives, then sends
  buffer<std::byte> arriving_;
};

}  // namespace syncopate::detail
