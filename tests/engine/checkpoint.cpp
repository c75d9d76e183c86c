#include <catch2/catch.hpp>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <stdexcept>
#include <string>
#include <syncopate/checkpoint.hpp>
#include <syncopate/syncopate.hpp>
#include <utility>
#include <vector>

#include "../support/ranks.hpp"

using namespace syncopate;

namespace {

namespace fs = std::filesystem;
using model = std::vector<std::vector<float>>;

/// A directory that is empty at first and is removed at the end.
struct directory {
  fs::path path = fs::temp_directory_path() / ("syncopate_checkpoint_" + std::to_string(std::rand()));
  directory() { fs::create_directory(path); }
  directory(const directory&) = delete;
  directory& operator=(const directory&) = delete;
  ~directory() { fs::remove_all(path); }
};

constexpr sgd rule{.learning_rate = 0.125, .momentum = 0.5};

auto looking_ahead(model& weights, thread_communicator communicator) {
  return lookahead_sgd(weights, communicator, rule, local_gradient{}, 2);
}

model start() { return {std::vector<float>(10, 1), std::vector<float>(3, 2)}; }

template <class Scheme>
void train(Scheme& scheme, model& weights, int rank, int from, int to) {
  for (int step = from; step < to; ++step) {
    model gradients = weights;
    for (auto& tensor : gradients)
      for (float& g : tensor) g = g * 0.5F + static_cast<float>(step % 3 + rank);
    scheme.step(weights, gradients);
  }
}

constexpr int ranks = 3;

/// Saves after 4 steps, and again after 5 with other numbers besides.
void save_on_ranks(const fs::path& path) {
  thread_team{ranks}.run([&](thread_communicator communicator) {
    model weights = start();
    auto scheme = looking_ahead(weights, communicator);
    train(scheme, weights, communicator.rank(), 0, 4);
    save_checkpoint(path, scheme, weights, 4, std::vector<double>{});
    train(scheme, weights, communicator.rank(), 4, 5);
    save_checkpoint(path, scheme, weights, 5, std::vector<double>{0.5, 0.25});
  });
}

/// What each rank says when it loads.
std::vector<std::string> loading(const fs::path& path, int on_ranks = ranks) {
  return support::on_ranks(on_ranks, [&](thread_communicator communicator) -> std::string {
    model weights = start();
    auto scheme = looking_ahead(weights, communicator);
    int step = 0;
    std::vector<double> losses;
    try {
      if (!load_checkpoint(path, scheme, weights, step, losses)) return "none";
      return "step " + std::to_string(step) + ", " + std::to_string(losses.size()) + " losses";
    } catch (const checkpoint_error& error) {
      return error.what();
    }
  });
}

std::vector<std::string> on_all(const std::string& text, int on_ranks = ranks) {
  return std::vector<std::string>(static_cast<std::size_t>(on_ranks), text);
}

std::string content_of(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}
void write(const fs::path& file, const std::string& content) {
  std::ofstream(file, std::ios::binary | std::ios::trunc) << content;
}

/// This rank's file of the newest checkpoint.
fs::path file_of(const fs::path& path, int rank) { return path.string() + ".2." + std::to_string(rank); }

}  // namespace

TEST_CASE("Training goes on from a file as if it had not been interrupted", "[engine][checkpoint]") {
  const directory here;
  const fs::path path = here.path / "model";
  save_on_ranks(path);
  CHECK(loading(path) == on_all("step 5, 2 losses"));
  const auto finished = support::on_ranks(ranks, [&](thread_communicator communicator) {
    model weights = start(), resumed = start();
    auto whole = looking_ahead(weights, communicator);
    train(whole, weights, communicator.rank(), 0, 12);
    whole.finish(weights);
    auto scheme = looking_ahead(resumed, communicator);
    int step = 0;
    std::vector<double> losses;
    load_checkpoint(path, scheme, resumed, step, losses);
    train(scheme, resumed, communicator.rank(), step, 12);
    scheme.finish(resumed);
    return std::pair(weights, resumed);
  });
  for (const auto& [weights, resumed] : finished) CHECK(weights == resumed);
  CHECK(std::distance(fs::directory_iterator(here.path), {}) == 1 + ranks);  // what is outdated is gone
}

TEST_CASE("A save that was interrupted leaves the checkpoint before it", "[engine][checkpoint]") {
  const directory here;
  const fs::path path = here.path / "model";
  CHECK(loading(path) == on_all("none"));
  save_on_ranks(path);
  write(path.string() + ".3.0", "half of a che");
  write(path.string() + ".new", "synco");
  CHECK(loading(path) == on_all("step 5, 2 losses"));
  save_on_ranks(path);  // over what was left behind
  CHECK(loading(path) == on_all("step 5, 2 losses"));
}

TEST_CASE("A damaged checkpoint is refused on all ranks", "[engine][checkpoint]") {
  const directory here;
  const fs::path path = here.path / "model";
  save_on_ranks(path);
  const int rank = GENERATE(0, 1, 2);
  const std::string whole = content_of(file_of(path, rank)), where = " (rank " + std::to_string(rank) + ")";
  for (const std::size_t length :
       {std::size_t{0}, std::size_t{1}, std::size_t{15}, std::size_t{16}, std::size_t{100}, whole.size() - 1}) {
    INFO(length << " of " << whole.size() << " bytes");
    write(file_of(path, rank), whole.substr(0, length));
    CHECK(loading(path) == on_all("syncopate: the checkpoint is truncated" + where));
  }
  for (const std::size_t byte :
       {std::size_t{0}, std::size_t{9}, std::size_t{300}, whole.size() - 17, whole.size() - 1}) {
    INFO("byte " << byte << " of " << whole.size());
    std::string damaged = whole;
    damaged[byte] = static_cast<char>(damaged[byte] ^ 16);
    write(file_of(path, rank), damaged);
    CHECK(loading(path) == on_all("syncopate: the checkpoint is damaged" + where));
  }
  fs::remove(file_of(path, rank));
  CHECK(loading(path) == on_all("syncopate: " + file_of(path, rank).string() + " cannot be opened" + where));
  write(path, "something else");
  CHECK(loading(path) == on_all("syncopate: " + path.string() + " is no checkpoint of syncopate's (rank 0)"));
}

TEST_CASE("A checkpoint that cannot be written is an error, and the one before is kept", "[engine][checkpoint]") {
  const directory here;
  const fs::path path = here.path / "model";
  save_on_ranks(path);
  fs::create_directory(path.string() + ".3.1");  // where rank 1 wants to write
  const auto texts = support::on_ranks(ranks, [&](thread_communicator communicator) {
    model weights = start();
    auto scheme = looking_ahead(weights, communicator);
    train(scheme, weights, communicator.rank(), 0, 2);
    const std::string text =
        support::outcome_of([&] { save_checkpoint(path, scheme, weights, 2, std::vector<double>{}); }).text;
    train(scheme, weights, communicator.rank(), 2, 3);  // training goes on
    scheme.finish(weights);
    return text;
  });
  CHECK(texts == on_all("syncopate: " + path.string() + ".3.1 cannot be opened for writing (rank 1)"));
  CHECK(loading(path) == on_all("step 5, 2 losses"));
}

TEST_CASE("A checkpoint of something else is refused", "[engine][checkpoint]") {
  const directory here;
  const fs::path path = here.path / "model";
  save_on_ranks(path);
  CHECK(loading(path, 2) == on_all("syncopate: the checkpoint belongs to a number of ranks of 3, not 2", 2));
  const auto refused = [&](auto make, model weights = start()) {
    const auto texts = support::on_ranks(ranks, [&](thread_communicator communicator) {
      model own = weights;
      auto scheme = make(own, communicator);
      int step = 0;
      return support::outcome_of([&] { load_checkpoint(path, scheme, own, step); }).text;
    });
    CHECK(texts == on_all(texts[0]));
    return texts[0];
  };
  const std::string begin = "syncopate: the checkpoint ", end = " (rank 0)";
  CHECK(refused([](auto& w, auto c) { return pseudo_synchronous_sgd(w, c, rule); }) ==
        begin + "belongs to a scheme of other policies" + end);
  CHECK(refused([](auto& w, auto c) { return lookahead_sgd(w, c, adamw{}, local_gradient{}, 2); }) ==
        begin + "belongs to a scheme of other policies" + end);
  CHECK(refused([](auto& w, auto c) { return lookahead_sgd(w, c, rule, local_gradient{}, 1); }) ==
        begin + "belongs to a delay with a number of messages in flight of 2, not 1" + end);
  CHECK(refused([](auto& w, auto c) { return lookahead_sgd(w, c, rule, local_gradient{}, 2, {.bucket_bytes = 8}); }) ==
        begin + "belongs to buckets with a number of bytes of 26214400, not 8" + end);
  CHECK(refused(looking_ahead, {std::vector<float>(10)}) == begin + "has a number of tensors of 2, not 1" + end);
  CHECK(refused(looking_ahead, {std::vector<float>(10), std::vector<float>(4)}) ==
        begin + "belongs to tensors of other sizes or types" + end);
  CHECK(refused(looking_ahead) == begin + "holds more than what is asked of it" + end);
  CHECK(refused([&](auto& w, auto c) {
          auto scheme = looking_ahead(w, c);
          train(scheme, w, 0, 0, 1);
          return scheme;
        }) == "syncopate: load was called after a step: make a new scheme to load into");
}

TEST_CASE("An archive's own errors are told in a sentence", "[engine][checkpoint]") {
  std::vector<float> weights(3, 1), gradients(3, 0.5F);
  auto scheme = dasgd(weights, loopback{}, rule);
  scheme.step(weights, gradients);
  std::ostringstream text;
  checkpoint_writer archive(text);
  scheme.save(archive, weights);
  archive.finish();
  const std::string whole = text.str();
  for (std::size_t numbers = 0; numbers + 16 < whole.size(); numbers += 8) {
    std::vector<float> other(3, 7);
    auto resumed = dasgd(other, loopback{}, rule);
    std::istringstream shorter(whole.substr(0, numbers));
    struct plain {
      std::istringstream& stream;
      void load_binary(void* address, std::size_t bytes) {
        if (!stream.read(static_cast<char*>(address), static_cast<std::streamsize>(bytes)))
          throw std::out_of_range("no number left");
      }
      void operator&(std::int64_t& x) { load_binary(&x, sizeof x); }
      void operator&(int& x) { load_binary(&x, sizeof x); }
      void operator&(float& x) { load_binary(&x, sizeof x); }
      void operator&(double& x) { load_binary(&x, sizeof x); }
      void operator&(bool& x) { load_binary(&x, sizeof x); }
    } reader{shorter};
    CHECK_THROWS_WITH(resumed.load(reader, other), "syncopate: the checkpoint cannot be read: no number left");
    CHECK_THROWS_AS(resumed.step(other, gradients), usage_error);
  }
  std::istringstream stream(whole);
  checkpoint_reader reader(stream);
  std::vector<float> other(3, 7);
  auto resumed = dasgd(other, loopback{}, rule);
  resumed.load(reader, other);
  CHECK(other == weights);
}
