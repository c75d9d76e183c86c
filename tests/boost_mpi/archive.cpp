// A scheme in Boost.Serialization's archives.
#include <boost/archive/binary_iarchive.hpp>
#include <boost/archive/binary_oarchive.hpp>
#include <boost/archive/text_iarchive.hpp>
#include <boost/archive/text_oarchive.hpp>
#include <catch2/catch.hpp>
#include <sstream>
#include <string>
#include <syncopate/syncopate.hpp>
#include <vector>

#include "syncopate/communicators/boost_mpi.hpp"

namespace {

using namespace syncopate;
using weights_type = std::vector<std::vector<double>>;

constexpr int steps = 9;

auto looking_ahead(weights_type& weights) {
  return lookahead_sgd(weights, boost_mpi(), sgd{.learning_rate = 0.125, .momentum = 0.5}, blended_gradient{}, 2);
}

template <class Scheme>
void train(Scheme& scheme, weights_type& weights, int from, int to) {
  for (int step = from; step < to; ++step) {
    weights_type gradients = weights;
    for (auto& tensor : gradients)
      for (double& g : tensor) g = g * 0.25 + scheme.rank() + step % 3;
    scheme.step(weights, gradients);
  }
}

template <class Out, class In>
void resume_from_each_step() {
  const weights_type start{std::vector<double>(5, 1.0), {}, std::vector<double>(600, 2.0)};
  weights_type expected = start;
  auto whole = looking_ahead(expected);
  train(whole, expected, 0, steps);
  whole.finish(expected);
  for (int saved = 0; saved <= steps; ++saved) {
    std::stringstream stream;
    weights_type weights = start, resumed{std::vector<double>(5), {}, std::vector<double>(600)};
    auto scheme = looking_ahead(weights);
    train(scheme, weights, 0, saved);
    {
      Out archive(stream);
      scheme.save(archive, weights);
    }
    scheme.finish(weights);
    auto other = looking_ahead(resumed);
    In archive(stream);
    other.load(archive, resumed);
    train(other, resumed, saved, steps);
    other.finish(resumed);
    CHECK(resumed == expected);
  }
}

TEST_CASE("Training goes on from Boost's archives", "[boost_mpi][resume]") {
  resume_from_each_step<boost::archive::binary_oarchive, boost::archive::binary_iarchive>();
  resume_from_each_step<boost::archive::text_oarchive, boost::archive::text_iarchive>();
}

TEST_CASE("A Boost archive that ends early is refused on all ranks", "[boost_mpi][resume]") {
  weights_type weights{std::vector<double>(5, 1.0)}, resumed = weights;
  auto scheme = looking_ahead(weights);
  train(scheme, weights, 0, 3);
  std::stringstream stream;
  {
    boost::archive::binary_oarchive archive(stream);
    scheme.save(archive, weights);
  }
  scheme.finish(weights);
  std::string content = stream.str();
  if (scheme.rank() == scheme.size() - 1) content.resize(content.size() / 2);
  std::istringstream shorter(content);
  auto other = looking_ahead(resumed);
  boost::archive::binary_iarchive archive(shorter);
  CHECK_THROWS_WITH(other.load(archive, resumed), Catch::StartsWith("syncopate: the checkpoint cannot be read: "));
}

}  // namespace
