#include <catch2/catch.hpp>
#include <cstddef>
#include <span>
#include <vector>

#include "../support/allocation_counter.hpp"
#include "../support/ranks.hpp"

TEST_CASE("Sums allocate nothing unless ranks are further apart than ever before", "[thread_team]") {
  const auto counts = support::on_ranks(3, [](syncopate::thread_communicator communicator) {
    std::vector<std::vector<double>> buffers(4, std::vector<double>(10'000, 1));  // more than is summed at a time
    std::vector<syncopate::thread_communicator::request> ring;
    ring.reserve(4);
    const auto rounds = [&](int count) {
      const std::size_t before = support::allocations;
      for (int round = 0; round < count; ++round) {
        for (auto& buffer : buffers) ring.push_back(communicator.start_sum(std::span(buffer)));
        for (auto& request : ring) {
          request.test();
          request.wait();
        }
        ring.clear();
        communicator.all_gather({}, {});  // so that no rank still holds what another one could reuse
      }
      return support::allocations - before;
    };
    // The first rank to call makes the room. Another one calling first later needs no more of it.
    const std::size_t first = rounds(2);
    const std::size_t later = rounds(500);
    std::vector<std::size_t> all(6);
    const std::vector<std::size_t> own{first, later};
    communicator.all_gather(std::as_bytes(std::span(own)), std::as_writable_bytes(std::span(all)));
    return all;
  });
  if (SYNCOPATE_TEST_COUNTS_ALLOCATIONS) CHECK(counts[0][0] + counts[0][2] + counts[0][4] > 0);
  CHECK(counts[0][1] == 0);
  CHECK(counts[0][3] == 0);
  CHECK(counts[0][5] == 0);
}
