#pragma once

#include <cstddef>
#include <exception>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "syncopate/communicators/thread_team.hpp"

namespace support {

/// What `function(communicator)` returned on each rank of the team. Assertions belong outside: Catch2
/// cannot take them from several threads at once.
template <class Function>
auto on_ranks(const syncopate::thread_team& team, Function&& function) {
  using result = decltype(function(std::declval<syncopate::thread_communicator>()));
  std::vector<std::optional<result>> results(static_cast<std::size_t>(team.size()));
  team.run([&](syncopate::thread_communicator communicator) {
    results[static_cast<std::size_t>(communicator.rank())] = function(communicator);
  });
  std::vector<result> all;
  for (auto& one : results) all.push_back(std::move(*one));
  return all;
}

template <class Function>
auto on_ranks(int ranks, Function&& function) {
  return on_ranks(syncopate::thread_team{ranks}, function);
}

/// How a rank fared: the kind and text of what it threw.
struct outcome {
  enum { returned, peer_failed, stalled, communication_failed, other } kind = returned;
  std::string text;
};

/// Calls the function and returns how it ended.
template <class Function>
outcome outcome_of(Function&& function) {
  try {
    function();
    return {};
  } catch (const syncopate::peer_failure& e) {
    return {outcome::peer_failed, e.what()};
  } catch (const syncopate::stalled& e) {
    return {outcome::stalled, e.what()};
  } catch (const syncopate::communication_error& e) {
    return {outcome::communication_failed, e.what()};
  } catch (const std::exception& e) {
    return {outcome::other, e.what()};
  }
}

/// How each rank fared. In contrast to `team.run` it tells what the ranks that failed second saw.
template <class Function>
std::vector<outcome> outcomes_on_ranks(const syncopate::thread_team& team, Function&& function) {
  std::vector<outcome> outcomes(static_cast<std::size_t>(team.size()));
  try {
    team.run([&](syncopate::thread_communicator communicator) {
      std::exception_ptr failure;
      outcomes[static_cast<std::size_t>(communicator.rank())] = outcome_of([&] {
        try {
          function(communicator);
        } catch (...) {
          failure = std::current_exception();
          throw;
        }
      });
      if (failure) std::rethrow_exception(failure);
    });
  } catch (...) {  // NOLINT(bugprone-empty-catch): it is one of the outcomes
  }
  return outcomes;
}

}  // namespace support
