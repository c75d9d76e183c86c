// Checkpoints that were damaged, cut, or made up.
//
// The first bytes of an input choose a scheme, after how many steps it was saved, and where its checkpoint is cut; the
// others are xored over what is left of that, and go on beyond its end. So an input of zeros is a good checkpoint,
// whatever the format has become, and what is found deep in a scheme does not have to find its way through the checks
// first.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <span>
#include <sstream>
#include <string>
#include <syncopate/checkpoint.hpp>
#include <syncopate/syncopate.hpp>
#include <tuple>
#include <vector>

using namespace syncopate;

namespace {

struct damage {
  int steps;        ///< before the scheme was saved
  bool sealed;      ///< whether the length and the checksum at the end are right nevertheless
  std::size_t cut;  ///< bytes that are missing at the end
  std::span<const std::uint8_t> mask;

  std::string applied_to(std::string content) const {
    content.resize(content.size() - cut % (content.size() + 1));
    content.resize(std::max(content.size(), mask.size()));
    for (std::size_t i = 0; i < mask.size(); ++i) content[i] = static_cast<char>(content[i] ^ mask[i]);
    return content;
  }
};

constexpr std::size_t bytes_at_the_end = 16;

std::string with_new_end(const std::string& payload) {
  std::ostringstream stream;
  checkpoint_writer archive(stream);
  archive.save_binary(payload.data(), payload.size());
  archive.finish();
  return stream.str();
}

/// Trains, in every way there is, to the end.
template <class Scheme, class W>
void train_to_the_end(Scheme& scheme, W& weights, const W& gradients) {
  W out = weights;
  for (int step = 0; step < 4; ++step) scheme.step(weights, gradients);
  scheme.consensus(weights, out);
  scheme.join(weights);
  scheme.step(weights, gradients);
  scheme.finish(weights);
}

/// A checkpoint that nobody has damaged, and where it leads.
template <class W>
struct good_checkpoint {
  std::string content;
  W trained;
};

template <class W, class Make>
good_checkpoint<W> save_after(int steps, const W& start, Make make) {
  W weights = start;
  auto scheme = make(weights);
  for (int step = 0; step < steps; ++step) scheme.step(weights, start);
  std::ostringstream stream;
  checkpoint_writer archive(stream);
  scheme.save(archive, weights);
  archive& steps& std::vector<double>{0.5, 0.25};
  archive.finish();
  train_to_the_end(scheme, weights, start);
  return {stream.str(), weights};
}

/// What a program does that resumes.
template <class W, class Make>
void run(const W& start, Make make, const damage& damaged) {
  static std::map<int, good_checkpoint<W>> all;
  if (!all.contains(damaged.steps)) all[damaged.steps] = save_after(damaged.steps, start, make);
  const good_checkpoint<W>& good = all[damaged.steps];
  const std::string whole = good.content,
                    file = damaged.sealed
                               ? with_new_end(damaged.applied_to(whole.substr(0, whole.size() - bytes_at_the_end)))
                               : damaged.applied_to(whole);
  W weights = start;
  auto scheme = make(weights);
  try {
    std::istringstream stream(file);
    checkpoint_reader archive(stream);
    scheme.load(archive, weights);
    int steps = 0;
    std::vector<double> losses;
    archive& steps& losses;
    archive.finish();
  } catch (const checkpoint_error&) {
    if (file == whole) std::abort();
    scheme.poll();
    return;
  }
  try {
    train_to_the_end(scheme, weights, start);
  } catch (const error&) {  // such as of a header that was damaged
    if (file == whole) std::abort();
  }
  if (file == whole && weights != good.trained) std::abort();
}

using model = std::vector<std::vector<float>>;
using mixed_model = std::tuple<std::vector<float>, std::vector<double>>;

constexpr sgd rule{.learning_rate = 0.125, .momentum = 0.5};
constexpr scheme_options small_buckets{.bucket_bytes = 8};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  if (size < 4) return 0;
  const damage damaged{bytes[1] % 8, bytes[1] % 16 < 8, bytes[2] + 256u * bytes[3], {bytes + 4, size - 4}};
  const model start{{1, 2, 3}, {}, {0.5F, 0.25F}};
  switch (bytes[0] % 4) {
    case 0:
      run(
          start,
          [](model& weights) {
            return lookahead_sgd(weights, loopback{}, adamw{}, adaptive_exponential_smoothing{}, 2, small_buckets);
          },
          damaged);
      break;
    case 1:
      run(
          start,
          [](model& weights) {
            return update_scheme{weights, loopback{}, periodic_delay{.period = 3, .delay = 2},
                                 weight_averaging{two_parameter_merge{}, rule}, small_buckets};
          },
          damaged);
      break;
    case 2:
      run(
          mixed_model{{1, 2}, {0.5, 0.25, 0.125}},
          [](mixed_model& weights) {
            return pseudo_synchronous_sgd(weights, loopback{}, rule, linear_extrapolation{}, 3);
          },
          damaged);
      break;
    default:
      run(
          start, [](model& weights) { return od_sgd(weights, loopback{}, rule, rule, 2); }, damaged);
  }
  return 0;
}
