#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <functional>
#include <iterator>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "../engine/named_schemes.hpp"
#include "../support/any_communicator.hpp"
#include "../support/training.hpp"
#include "syncopate/communicators/faulty.hpp"
#include "syncopate/syncopate.hpp"

/// Trains named schemes with one seeded fault each. Every run has to end with the right result, bitwise that of the run
/// without a fault, or with the right error on all ranks, and within its time limit.
namespace faults {

using namespace support;
using syncopate::fault_plan;
using syncopate::planned_fault;
using W = model<float>;

inline constexpr int steps = 16;
inline constexpr std::chrono::seconds limit{120};

/// One run of the campaign.
struct trial {
  std::string scheme;
  int ranks;
  fault_plan plan;

  std::string text() const { return scheme + " on " + std::to_string(ranks) + " ranks: " + plan.text(); }
};

inline const std::map<std::string, maker<W>>& schemes() {
  static const auto all = [] {
    auto named = named_schemes<W>();
    const syncopate::sgd rule{.learning_rate = 0.125, .momentum = 0.5};
    const syncopate::scheme_options one_by_one{.bucket_bytes = 1};
    named.emplace("gradient averaging, a message per tensor",
                  compiled::scheme<W>(syncopate::warm_up{1, syncopate::fixed_delay{2}},
                                      syncopate::gradient_averaging{syncopate::no_prediction{}, rule}, one_by_one));
    named.emplace("look-ahead, a message per tensor",
                  compiled::scheme<W>(syncopate::warm_up{1, syncopate::fixed_delay{3}},
                                      syncopate::lookahead_averaging{syncopate::local_gradient{}, rule}, one_by_one));
    return named;
  }();
  return all;
}

/// The run with this seed, on one of these numbers of ranks.
inline trial trial_of(std::uint64_t seed, const std::vector<int>& ranks) {
  const auto draw = [&](std::uint64_t purpose, std::size_t choices) { return scrambled(seed, purpose, 0) % choices; };
  constexpr planned_fault faults[] = {planned_fault::slow,         planned_fault::reordered,
                                      planned_fault::dropped,      planned_fault::corrupted_header,
                                      planned_fault::failed_start, planned_fault::failed_test,
                                      planned_fault::failed_wait};
  trial t;
  t.scheme = std::next(schemes().begin(), static_cast<std::ptrdiff_t>(draw(0, schemes().size())))->first;
  t.ranks = ranks[draw(1, ranks.size())];
  t.plan.fault = faults[draw(2, std::size(faults))];
  t.plan.seed = seed;
  t.plan.rank = static_cast<int>(draw(3, static_cast<std::size_t>(t.ranks)));
  t.plan.operation = static_cast<std::int64_t>(draw(4, 22));
  return t;
}

/// How a rank ended, and the weights that it saw until then.
struct ending {
  enum { finished, dropped_out, peer_failed, communication_failed, something_else } kind = finished;
  std::string text = "finished";
  record weights;
};

inline void train(const trial& t, const any_communicator& communicator, ending& end) {
  const auto rank = static_cast<std::uint64_t>(communicator.rank());
  const auto number = [](std::uint32_t bits) { return static_cast<float>(bits >> 12) / (1 << 19) - 1; };
  W weights{std::vector<float>(5), std::vector<float>(300), std::vector<float>(33)}, gradients = weights, out = weights;
  auto scheme = schemes().at(t.scheme)(weights, communicator.duplicate());
  for (std::uint64_t step = 0; step < steps; ++step) {
    for (std::size_t i = 0; i < weights.size(); ++i)
      for (std::size_t j = 0; j < weights[i].size(); ++j)  // what is wrong once, remains so
        gradients[i][j] = weights[i][j] / 4 + number(scrambled(rank, step, 1000 * i + j));
    for (std::uint64_t polls = scrambled(rank, step, t.plan.seed) % 4; polls > 0; --polls) scheme.poll();
    scheme.step(weights, gradients, static_cast<double>(rank + 1));
    append(end.weights, weights);
    if (step == steps / 2) {
      scheme.consensus(weights, out);
      append(end.weights, out);
    }
  }
  scheme.finish(weights);
  append(end.weights, weights);
}

/// How training ends on one rank. If it is by an error, `fail(text)` tells the other ranks.
template <class C>
ending ending_of(const trial& t, const C& communicator) {
  ending end;
  const auto ended = [&](auto kind, const char* text) {
    end.kind = kind;
    end.text = text;
    communicator.fail(text);
  };
  try {
    train(t, any_communicator(syncopate::faulty_communicator{communicator, t.plan}), end);
  } catch (const syncopate::planned_dropout& e) {
    ended(ending::dropped_out, e.what());
  } catch (const syncopate::peer_failure& e) {
    ended(ending::peer_failed, e.what());
  } catch (const syncopate::communication_error& e) {
    ended(ending::communication_failed, e.what());
  } catch (const std::exception& e) {
    ended(ending::something_else, e.what());
  }
  return end;
}

/// Trains on all ranks.
using runner = std::function<std::vector<ending>(const trial&)>;

inline bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

/// Whether a rank's end is a right one.
inline bool right_end(const trial& t, std::size_t rank, const ending& end, bool all_finished) {
  const bool is_planned = static_cast<int>(rank) == t.plan.rank;
  const std::string planned = "as planned, " + t.plan.text();
  const bool names_rank =
      end.kind == ending::peer_failed && contains(end.text, "rank " + std::to_string(t.plan.rank) + " failed");
  switch (t.plan.fault) {
    case planned_fault::none:
    case planned_fault::slow:
    case planned_fault::reordered:
      return all_finished;
    case planned_fault::dropped:
      return all_finished ||
             ((is_planned ? end.kind == ending::dropped_out : names_rank) && contains(end.text, planned));
    case planned_fault::corrupted_header:  // of which the lowest bits may be lost in the sum
      return all_finished || ((end.kind == ending::communication_failed || end.kind == ending::peer_failed) &&
                              contains(end.text, "the header that rank ") && contains(end.text, "arrived damaged"));
    case planned_fault::failed_start:
      return all_finished ||
             ((is_planned ? end.kind == ending::communication_failed : names_rank) && contains(end.text, planned));
    case planned_fault::failed_test:  // of the last sum, nobody else needs that rank any more
    case planned_fault::failed_wait:
      return all_finished || (!is_planned && end.kind == ending::finished) ||
             ((is_planned ? end.kind == ending::communication_failed : names_rank) && contains(end.text, planned));
  }
  return false;
}

/// Ends the program if it is not destroyed in time: a run that hangs cannot be left otherwise.
class watchdog {
 public:
  explicit watchdog(const trial& t)
      : thread_([this, text = t.text()] {
          std::unique_lock lock(mutex_);
          if (changed_.wait_for(lock, limit, [this] { return over_; })) return;
          std::fprintf(stderr, "hangs: %s\n", text.c_str());
          std::_Exit(2);
        }) {}
  ~watchdog() {
    {
      const std::lock_guard lock(mutex_);
      over_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool over_ = false;
  std::thread thread_;
};

enum class verdict { right_result, right_error, wrong };

inline verdict judge(const trial& t, const runner& run, bool tells) {
  const watchdog limits(t);
  trial without_fault = t;
  without_fault.plan.fault = planned_fault::none;
  const std::vector<ending> expected = run(without_fault), endings = run(t);
  const bool all_finished = std::ranges::all_of(endings, [](const ending& e) { return e.kind == ending::finished; });
  bool right = true;
  for (std::size_t rank = 0; rank < endings.size(); ++rank) {
    const ending& end = endings[rank];
    const record& whole = expected[rank].weights;
    const bool same =
        end.weights.size() <= whole.size() &&
        same_bits(end.weights, record(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(end.weights.size())));
    right = right && same && (end.kind != ending::finished || end.weights.size() == whole.size()) &&
            right_end(t, rank, end, all_finished);
    if (tells) std::printf("  rank %zu: %s%s\n", rank, end.text.c_str(), same ? "" : "; its weights are wrong");
  }
  return !right ? verdict::wrong : all_finished ? verdict::right_result : verdict::right_error;
}

/// What the programs do with their arguments, on these numbers of ranks. One process `speaks`.
inline int campaign(int argc, char** argv, const std::vector<int>& ranks, const runner& run, bool speaks) {
  std::uint64_t first = 1, last = 2000;
  const bool one = argc == 3 && std::strcmp(argv[1], "--seed") == 0;
  if (one)
    first = last = std::strtoull(argv[2], nullptr, 10);
  else if (argc == 3 && std::strcmp(argv[1], "--count") == 0)
    last = std::strtoull(argv[2], nullptr, 10);
  else if (argc > 1)
    return std::fprintf(stderr, "usage: %s [--count N | --seed N]\n", argv[0]), 2;

  std::map<planned_fault, std::map<verdict, std::uint64_t>> counts;
  std::uint64_t wrong = 0;
  for (std::uint64_t seed = first; seed <= last; ++seed) {
    const trial t = trial_of(seed, ranks);
    if (one && speaks) std::printf("%s\n", t.text().c_str());
    const verdict found = judge(t, run, one && speaks);
    ++counts[t.plan.fault][found];
    if (found != verdict::wrong) continue;
    ++wrong;
    if (speaks)
      std::printf("wrong: %s; again by --seed %llu\n", t.text().c_str(), static_cast<unsigned long long>(seed));
  }

  if (!speaks) return wrong == 0 ? 0 : 1;
  const std::map<planned_fault, const char*> names{{planned_fault::slow, "slow"},
                                                   {planned_fault::reordered, "reordered"},
                                                   {planned_fault::dropped, "dropped"},
                                                   {planned_fault::corrupted_header, "corrupted header"},
                                                   {planned_fault::failed_start, "failed start"},
                                                   {planned_fault::failed_test, "failed test"},
                                                   {planned_fault::failed_wait, "failed wait"}};
  std::printf("%-18s %12s %12s %8s\n", "fault", "right result", "right error", "wrong");
  for (auto& [fault, found] : counts)
    std::printf("%-18s %12llu %12llu %8llu\n", names.at(fault),
                static_cast<unsigned long long>(found[verdict::right_result]),
                static_cast<unsigned long long>(found[verdict::right_error]),
                static_cast<unsigned long long>(found[verdict::wrong]));
  return wrong == 0 ? 0 : 1;
}

}  // namespace faults
