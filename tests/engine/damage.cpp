// Checkpoints whose bytes have been altered so that their checksum is right: each fact that is checked, checked alone.
#include <catch2/catch.hpp>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <istream>
#include <ostream>
#include <sstream>
#include <string>
#include <syncopate/checkpoint.hpp>
#include <vector>

#include "../support/ranks.hpp"
#include "../support/training.hpp"
#include "syncopate/communicators/loopback.hpp"
#include "syncopate/rules/sgd.hpp"

using namespace syncopate;
using Catch::Matchers::StartsWith;
using support::model;

namespace {

constexpr std::size_t bytes_at_the_end = 16;

support::any_scheme<model<float>> make(model<float>& weights) {
  return compiled::dasgd<model<float>>(sgd{.learning_rate = 0.125, .momentum = 0.5})(
      weights, support::any_communicator(loopback{}));
}

std::string saved() {
  model<float> weights{{1, 2, 3}};
  auto scheme = make(weights);
  for (int step = 0; step < 4; ++step) scheme.step(weights, model<float>{{1, 1, 1}});
  return scheme.save(weights);
}

/// What loading says if `number` stands at that byte of the checkpoint, as an integer of `size` bytes.
std::string said(std::size_t byte, std::int64_t number, std::size_t size = sizeof(std::int64_t)) {
  std::string payload = saved();
  payload.resize(payload.size() - bytes_at_the_end);
  std::memcpy(payload.data() + byte, &number, size);
  std::ostringstream stream;
  checkpoint_writer archive(stream);
  archive.save_binary(payload.data(), payload.size());
  archive.finish();
  model<float> weights{{0, 0, 0}};
  auto scheme = make(weights);
  return support::outcome_of([&] { scheme.load(stream.str(), weights); }).text;
}

}  // namespace

TEST_CASE("A checkpoint of something else says of what", "[engine][checkpoint]") {
  const std::string begin = "syncopate: the checkpoint ";
  CHECK(said(0, 7) == begin + "is none of syncopate's");
  CHECK(said(8, 7) == begin + "has a format of number 7, not 2");
  CHECK_THAT(said(16, 7), StartsWith(begin + "was written by version 7, not "));
  CHECK(said(24, 7) == begin + "belongs to a scheme of other policies");
  CHECK(said(32, 7) == begin + "has a number of tensors of 7, not 1");
  CHECK(said(40, 7) == begin + "belongs to tensors of other sizes or types");
  CHECK(said(48, 7) == begin + "belongs to a delay with a number of messages in flight of 7, not 1");
  CHECK(said(56, 7) == begin + "belongs to another delay policy, or one with other parameters");
  CHECK_THAT(said(64, 7), StartsWith(begin + "belongs to buckets with a number of bytes of 7, not "));
  CHECK(said(72, 7) == begin + "belongs to a number of ranks of 7, not 1");
  CHECK(said(80, 7) == begin + "was written by rank 7, not 0");
}

TEST_CASE("A checkpoint that contradicts itself is damaged", "[engine][checkpoint]") {
  const std::string begin = "syncopate: the checkpoint is damaged: ";
  CHECK_THAT(said(88, -1), StartsWith(begin));                                           // steps so far
  CHECK(said(192, -1) == begin + "its numbers of messages contradict each other");       // launched
  CHECK(said(200, 1 << 30) == begin + "its numbers of messages contradict each other");  // due
  CHECK(said(208, -1) == begin + "a message in it is of no step that has been");
  CHECK(said(216, 7) == begin + "a message in it is of no known kind");
}

TEST_CASE("A stream that fails is an error", "[engine][checkpoint]") {
  std::ostream full(nullptr);
  checkpoint_writer writer(full);
  writer & 1;
  CHECK_THROWS_WITH(writer.finish(), "syncopate: the checkpoint cannot be written: is the disk full?");
  std::istream none(nullptr);
  CHECK_THROWS_WITH(checkpoint_reader(none), "syncopate: the checkpoint is truncated");

  std::ostringstream stream;
  checkpoint_writer short_writer(stream);
  short_writer & 1;
  short_writer.finish();
  std::istringstream content(stream.str());
  checkpoint_reader reader(content);
  std::vector<double> numbers;
  double number = 0;
  CHECK_THROWS_WITH(reader & number, "syncopate: the checkpoint holds less than what is asked of it");
  CHECK_THROWS_WITH(reader & numbers, "syncopate: the checkpoint holds less than what is asked of it");
}
