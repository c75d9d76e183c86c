// How a sum is done, and what is said of it.
#include "syncopate/detail/mpi/choice.hpp"

#include <catch2/catch.hpp>
#include <string>

namespace {

using namespace syncopate;
using namespace syncopate::detail;

std::string chosen(const mpi_options& options, const mpi_facts& facts, std::size_t bytes) {
  return text_of(choose(options, facts, bytes));
}

}  // namespace

TEST_CASE("What is asked for is done, whatever the machine", "[mpi][choice]") {
  const auto progress = GENERATE(mpi_progress::on_poll, mpi_progress::on_thread);
  const auto transport = GENERATE(mpi_transport::library, mpi_transport::ring);
  const mpi_facts facts{.ranks = GENERATE(1, 4),
                        .hosts = GENERATE(1, 2),
                        .cores_per_host = 8,
                        .threads = progress == mpi_progress::on_thread};
  for (const std::size_t bytes : {std::size_t{0}, std::size_t{1} << 30}) {
    const mpi_choice choice = choose({.progress = progress, .transport = transport}, facts, bytes);
    CHECK(choice.progress == progress);
    CHECK(choice.transport == transport);
    CHECK(text_of(choice) == std::string("progress ") + (choice.on_thread() ? "on_thread" : "on_poll") +
                                 ", as it was asked for; transport " + (choice.ring() ? "ring" : "library") +
                                 ", as it was asked for");
  }
}

TEST_CASE("What is chosen automatically goes by the machine and the size, and says why", "[mpi][choice]") {
  const std::size_t large = mpi_options{}.large_bytes, small = large - 1;
  const mpi_facts crowded{.ranks = 2, .ranks_per_host = 2, .cores_per_host = 2, .threads = true};
  const mpi_facts spacious{.ranks = 2, .ranks_per_host = 2, .cores_per_host = 3, .threads = true};
  const mpi_facts hosts{.ranks = 2, .hosts = 2, .threads = true};
  mpi_facts no_threads = hosts;
  no_threads.threads = false;

  CHECK(chosen({}, crowded, large) ==
        "progress on_poll, since within one host summing is work, and no core is free for it; "
        "transport library, since within one host the library uses shared memory best");
  CHECK(chosen({}, crowded, small) ==
        "progress on_poll, since waking a thread would take longer than so small a sum; "
        "transport library, since within one host the library uses shared memory best");
  CHECK(chosen({}, spacious, large) ==
        "progress on_thread, since there are more cores than ranks; "
        "transport library, since within one host the library uses shared memory best");
  CHECK(chosen({}, hosts, large) ==
        "progress on_thread, since between hosts there is little to do but to wait for the network; "
        "transport ring, since it uses the network in both directions all the time");
  CHECK(chosen({}, hosts, small) ==
        "progress on_poll, since waking a thread would take longer than so small a sum; "
        "transport library, since so small a sum is a matter of latency");
  CHECK(chosen({}, no_threads, large) ==
        "progress on_poll, since MPI was not initialised with MPI_THREAD_MULTIPLE; "
        "transport library, since it also progresses inside the user's own calls of MPI");
}

TEST_CASE("A choice can be frozen in part", "[mpi][choice]") {
  const std::size_t large = mpi_options{}.large_bytes;
  const mpi_facts hosts{.ranks = 2, .hosts = 2, .threads = true};
  CHECK(chosen({.progress = mpi_progress::on_poll}, hosts, large) ==
        "progress on_poll, as it was asked for; "
        "transport library, since it also progresses inside the user's own calls of MPI");
  CHECK(chosen({.transport = mpi_transport::ring}, hosts, large - 1) ==
        "progress on_poll, since waking a thread would take longer than so small a sum; "
        "transport ring, as it was asked for");
  CHECK(choose({.large_bytes = 0}, hosts, 0).ring());
  CHECK(!choose({.large_bytes = SIZE_MAX}, hosts, large).on_thread());
}
