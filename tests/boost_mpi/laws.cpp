// Where the laws of tests/laws run in this program: on MPI. And law 10: threads and MPI give the same numbers.
#include <boost/mpi/communicator.hpp>
#include <catch2/catch.hpp>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "../support/ranks.hpp"
#include "../support/training.hpp"
#include "syncopate/communicators/boost_mpi.hpp"
#include "syncopate/communicators/thread_team.hpp"
#include "syncopate/delays/periodic_delay.hpp"
#include "syncopate/predictors/local_gradient.hpp"
#include "syncopate/rules/sgd.hpp"

namespace support {

const std::vector<rank_group>& every_communicator() {
  static const std::vector<rank_group> all{
      {"MPI", boost::mpi::communicator{}.size(), [](const auto& function) {
         syncopate::boost_mpi world;
         const record own = function(any_communicator(world));
         record every(own.size() * static_cast<std::size_t>(world.size()));
         world.all_gather(std::as_bytes(std::span(own)), std::as_writable_bytes(std::span(every)));
         std::vector<record> of_ranks;
         for (auto from = every.begin(); of_ranks.size() < static_cast<std::size_t>(world.size());
              from += static_cast<std::ptrdiff_t>(own.size()))
           of_ranks.emplace_back(from, from + static_cast<std::ptrdiff_t>(own.size()));
         return of_ranks;
       }}};
  return all;
}

namespace {

// Two summands have one sum, whoever comes first. The sums of more are the same in every order where they are exact.
TEMPLATE_TEST_CASE("A scheme gives the same numbers on threads and on MPI", "[laws]", float, double) {
  const rank_group& on_mpi = every_communicator().front();
  const rank_group on_threads{"threads", on_mpi.size, [&](const auto& function) {
                                return on_ranks(on_mpi.size, [&](syncopate::thread_communicator communicator) {
                                  return function(any_communicator(communicator));
                                });
                              }};
  const auto data = on_mpi.size > 2 ? exact_data(awkward_sizes, 8, uneven(on_mpi.size))
                                    : rough_data(awkward_sizes, 8, uneven(on_mpi.size));
  using W = model<TestType>;
  const auto same = [&](const maker<W>& make) {
    const auto expected = trajectories<TestType>(on_threads, data, make);
    const auto got = trajectories<TestType>(on_mpi, data, make);
    for (std::size_t rank = 0; rank < got.size(); ++rank) CHECK(same_bits(got[rank], expected[rank]));
  };
  const syncopate::sgd rule{.learning_rate = 0.125, .momentum = 0.5};
  same(compiled::synchronous_sgd<W>(rule));
  same(compiled::pseudo_synchronous_sgd<W>(rule));
  same(compiled::od_sgd<W>(rule, 2));
  same(compiled::lookahead_sgd<W>(rule, syncopate::local_gradient{}, 3));
  // Snapshots of weights start as multiples of ¼ and move by multiples of 2⁻³; the mean, and so what follows from it,
  // rounds: only the first period's is exact for more than two ranks.
  if (on_mpi.size <= 2) same(compiled::dasgd<W>(rule, syncopate::periodic_delay{.period = 3, .delay = 2}));
}

}  // namespace
}  // namespace support
