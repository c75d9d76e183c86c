#include <catch2/catch.hpp>
#include <cstddef>
#include <cstdlib>
#include <new>
#include <span>
#include <vector>

#include "../support/ranks.hpp"

namespace {
thread_local std::size_t allocations = 0;
}

// Not inlined, or else g++ warns of memory from new that is freed.
[[gnu::noinline]] void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  ++allocations;
  return std::malloc(size > 0 ? size : 1);
}
[[gnu::noinline]] void* operator new(std::size_t size) {
  if (void* memory = operator new(size, std::nothrow)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, const std::nothrow_t&) noexcept { std::free(memory); }

TEST_CASE("Sums allocate nothing unless ranks are further apart than ever before", "[thread_team]") {
  const auto counts = support::on_ranks(3, [](syncopate::thread_communicator communicator) {
    std::vector<std::vector<double>> buffers(4, std::vector<double>(10'000, 1));  // more than is summed at a time
    std::vector<syncopate::thread_communicator::request> ring;
    ring.reserve(4);
    const auto rounds = [&](int count) {
      const std::size_t before = allocations;
      for (int round = 0; round < count; ++round) {
        for (auto& buffer : buffers) ring.push_back(communicator.start_sum(std::span(buffer)));
        for (auto& request : ring) {
          request.test();
          request.wait();
        }
        ring.clear();
        communicator.all_gather({}, {});  // so that no rank still holds what another one could reuse
      }
      return allocations - before;
    };
    // The first rank to call makes the room. Another one calling first later needs no more of it.
    const std::size_t first = rounds(2);
    const std::size_t later = rounds(500);
    std::vector<std::size_t> all(6);
    const std::vector<std::size_t> own{first, later};
    communicator.all_gather(std::as_bytes(std::span(own)), std::as_writable_bytes(std::span(all)));
    return all;
  });
  CHECK(counts[0][0] + counts[0][2] + counts[0][4] > 0);  // the counter counts
  CHECK(counts[0][1] == 0);
  CHECK(counts[0][3] == 0);
  CHECK(counts[0][5] == 0);
}
