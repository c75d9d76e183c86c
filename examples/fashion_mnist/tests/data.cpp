/// Files that are as they should be, and each way in which they may not be.

#include "../data.hpp"

#include <algorithm>
#include <boost/iostreams/device/back_inserter.hpp>
#include <boost/iostreams/filter/gzip.hpp>
#include <boost/iostreams/filtering_stream.hpp>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <fstream>
#include <string>

using namespace fashion_mnist;
using Catch::Matchers::Contains;
using Catch::Matchers::StartsWith;

namespace {

std::string big_endian(unsigned number) {
  std::string bytes;
  for (unsigned shift : {24U, 16U, 8U, 0U}) bytes += static_cast<char>(number >> shift & 0xFFU);
  return bytes;
}

std::string idx(unsigned magic, std::initializer_list<unsigned> extents, const std::string& elements) {
  std::string bytes = big_endian(magic);
  for (unsigned extent : extents) bytes += big_endian(extent);
  return bytes + elements;
}

std::string gzip(const std::string& bytes) {
  std::string packed;
  boost::iostreams::filtering_ostream out;
  out.push(boost::iostreams::gzip_compressor());
  out.push(boost::iostreams::back_inserter(packed));
  out << bytes;
  out.reset();
  return packed;
}

/// A directory that goes away with the test.
struct directory {
  std::filesystem::path path;
  directory() {
    std::string name = std::filesystem::temp_directory_path() / "fashion_mnist_XXXXXX";
    path = mkdtemp(name.data());
  }
  directory(const directory&) = delete;
  directory& operator=(const directory&) = delete;
  ~directory() { std::filesystem::remove_all(path); }

  std::filesystem::path write(const char* name, const std::string& bytes) const {
    std::ofstream(path / name, std::ios::binary) << bytes;
    return path / name;
  }
};

std::string three_images() {
  std::string bytes(3 * pixels, '\0');
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(i % 251);
  return bytes;
}
const std::string good_images = idx(0x803, {3, 28, 28}, three_images());
const std::string good_labels = idx(0x801, {3}, std::string("\x00\x09\x04", 3));

/// What is wrong with the images (or, with good images, with the labels). The sentence has to name the file.
std::string complaint(const std::string& images, const std::string& labels = gzip(good_labels)) {
  const directory temporary;
  const auto image_file = temporary.write("images.gz", images), label_file = temporary.write("labels.gz", labels);
  try {
    read_data_set(image_file, label_file);
  } catch (const data_error& error) {
    const std::string text = error.what();
    const auto& culprit = images == gzip(good_images) ? label_file : image_file;
    CHECK_THAT(text, StartsWith("syncopate: " + culprit.string()));
    return text;
  }
  return "nothing";
}

}  // namespace

TEST_CASE("a good pair of files is read, whole or in part") {
  const directory temporary;
  const auto images = temporary.write("images.gz", gzip(good_images));
  const auto labels = temporary.write("labels.gz", gzip(good_labels));
  const data_set all = read_data_set(images, labels);
  REQUIRE(all.size() == 3);
  CHECK(all.labels == std::vector<std::uint8_t>{0, 9, 4});
  CHECK(all.images(0, 250) == 250);
  CHECK(all.images(2, 783) == (2 * 784 + 783) % 251);
  const data_set two = read_data_set(images, labels, 2);
  CHECK(two.size() == 2);
  CHECK(two.images.shape(0) == 2);
  CHECK(two.images(1, 783) == all.images(1, 783));
}

TEST_CASE("missing files are named") {
  const directory temporary;
  const auto nowhere = temporary.path / "nowhere";
  CHECK_THROWS_WITH(read_training_set(nowhere),
                    Contains((nowhere / "train-images-idx3-ubyte.gz").string()) && Contains("cannot be opened"));
  CHECK_THROWS_WITH(read_test_set(nowhere), Contains((nowhere / "t10k-images-idx3-ubyte.gz").string()));
  const auto images = temporary.write("images.gz", gzip(good_images));
  CHECK_THROWS_WITH(read_data_set(images, nowhere), StartsWith("syncopate: " + nowhere.string()));
  CHECK_THROWS_WITH(read_data_set(temporary.path, images), Contains("cannot be opened"));
}

TEST_CASE("damaged files are refused") {
  const std::string packed = gzip(good_images);
  REQUIRE(complaint(packed) == "nothing");
  // Cut anywhere: in the middle, within gzip's header, within its checksum.
  for (std::size_t length : {packed.size() / 2, packed.size() - 1, packed.size() - 5, std::size_t{4}, std::size_t{0}})
    CHECK_THAT(complaint(packed.substr(0, length)), Contains("truncated"));
  std::string flipped = packed;
  flipped[packed.size() - 6] ^= 1;  // in the checksum
  CHECK_THAT(complaint(flipped), Contains("damaged"));
  CHECK_THAT(complaint(good_images), Contains("not compressed by gzip"));
}

TEST_CASE("files whose header does not fit are refused") {
  CHECK_THAT(complaint(gzip(good_labels)), Contains("magic number 2049") && Contains("2051"));
  CHECK_THAT(complaint(gzip(good_images), gzip(good_images)), Contains("magic number 2051") && Contains("2049"));
  CHECK_THAT(complaint(gzip(good_images.substr(0, 10))), Contains("within its header"));
  CHECK_THAT(complaint(gzip(good_images.substr(0, good_images.size() - 1))), Contains("not what its header promises"));
  CHECK_THAT(complaint(gzip(good_images + "x")), Contains("not what its header promises"));
  // 2³² x 2³² x 2³² bytes: nothing may overflow, or be allocated.
  CHECK_THAT(complaint(gzip(idx(0x803, {0xFFFFFFFF, 0xFFFFFFFF, 0xFFFFFFFF}, "x"))), Contains("promises"));
  CHECK_THAT(complaint(gzip(idx(0x803, {0, 28, 28}, ""))), Contains("promises"));
  CHECK_THAT(complaint(gzip(idx(0x803, {3, 14, 56}, three_images()))), Contains("14 x 56 pixels"));
  CHECK_THAT(complaint(gzip(good_images), gzip(idx(0x801, {2}, "\x01\x02"))), Contains("2 labels for the 3 images"));
  CHECK_THAT(complaint(gzip(good_images), gzip(idx(0x801, {3}, "\x01\x02\x0A"))), Contains("none of the ten classes"));
}
