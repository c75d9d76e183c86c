#include "data.hpp"

#include <algorithm>
#include <boost/iostreams/copy.hpp>
#include <boost/iostreams/device/back_inserter.hpp>
#include <boost/iostreams/filter/gzip.hpp>
#include <boost/iostreams/filtering_stream.hpp>
#include <exception>
#include <fstream>
#include <span>
#include <string>
#include <utility>

namespace fashion_mnist {
namespace {

[[noreturn]] void fail(const std::filesystem::path& file, const std::string& what) {
  throw data_error("syncopate: " + file.string() + " " + what + ".");
}

unpacked_file unpack(const std::filesystem::path& file) {
  std::ifstream compressed(file, std::ios::binary);
  if (!compressed || std::filesystem::is_directory(file)) fail(file, "cannot be opened");
  std::vector<char> bytes;
  try {
    boost::iostreams::filtering_istream unpacked;
    unpacked.push(boost::iostreams::gzip_decompressor());
    unpacked.push(compressed);
    unpacked.exceptions(std::ios::badbit);
    boost::iostreams::copy(unpacked, boost::iostreams::back_inserter(bytes));
  } catch (const std::exception&) {
    fail(file, "is damaged, truncated or not compressed by gzip");
  }
  return {file, std::move(bytes)};
}

/// An IDX file: a magic number that says "bytes" and how many extents follow, the extents, the bytes. All numbers in
/// the header are big-endian.
struct idx_file {
  std::vector<std::size_t> extents;
  std::span<const char> elements;
};

idx_file parse_idx(const unpacked_file& unpacked, std::size_t dimensions) {
  const std::filesystem::path& file = unpacked.path;
  const std::span<const char> bytes(unpacked.bytes);
  const std::size_t header = 4 * (1 + dimensions);
  if (bytes.size() < 4) fail(file, "is truncated: it ends within its header");
  const auto number = [&](std::size_t position) {
    std::size_t value = 0;
    for (std::size_t i = 0; i < 4; ++i) value = value << 8U | static_cast<unsigned char>(bytes[4 * position + i]);
    return value;
  };
  const std::size_t magic = 0x800 + dimensions;
  if (number(0) != magic)
    fail(file, "has the magic number " + std::to_string(number(0)) + " where an IDX file of this kind has " +
                   std::to_string(magic));
  if (bytes.size() < header) fail(file, "is truncated: it ends within its header");
  idx_file idx{.extents = {}, .elements = bytes.subspan(header)};
  // Divide what is there by what is promised, rather than multiply promises that could overflow.
  std::size_t rest = idx.elements.size();
  for (std::size_t d = 1; d <= dimensions; ++d) idx.extents.push_back(number(d));
  bool fits = true;
  for (std::size_t extent : idx.extents) {
    fits = fits && extent > 0 && rest % extent == 0;
    if (fits) rest /= extent;
  }
  if (!fits || rest != 1)
    fail(file, "is truncated or damaged: it holds " + std::to_string(idx.elements.size()) +
                   " bytes, which is not what its header promises");
  return idx;
}

}  // namespace

data_set parse(const unpacked_file& image_file, const unpacked_file& label_file, std::size_t at_most) {
  const idx_file images = parse_idx(image_file, 3);
  const idx_file labels = parse_idx(label_file, 1);
  if (images.extents[1] != 28 || images.extents[2] != 28)
    fail(image_file.path, "holds images of " + std::to_string(images.extents[1]) + " x " +
                              std::to_string(images.extents[2]) + " pixels instead of 28 x 28");
  if (images.extents[0] != labels.extents[0])
    fail(label_file.path, "holds " + std::to_string(labels.extents[0]) + " labels for the " +
                              std::to_string(images.extents[0]) + " images of " + image_file.path.string());
  const std::size_t count = std::min(at_most, labels.extents[0]);
  data_set data{.images = xt::xtensor<std::uint8_t, 2>::from_shape({count, pixels}),
                .labels = std::vector<std::uint8_t>(count)};
  const auto as_byte = [](char c) { return static_cast<std::uint8_t>(c); };
  std::ranges::transform(labels.elements.first(count), data.labels.begin(), as_byte);
  if (std::ranges::any_of(data.labels, [](std::uint8_t label) { return label >= classes; }))
    fail(label_file.path, "holds a label that is none of the ten classes");
  std::ranges::transform(images.elements.first(count * pixels), data.images.data(), as_byte);
  return data;
}

data_set read_data_set(const std::filesystem::path& images, const std::filesystem::path& labels, std::size_t at_most) {
  const unpacked_file image_file = unpack(images);  // first, so that it is named if both are missing
  return parse(image_file, unpack(labels), at_most);
}

data_set read_training_set(const std::filesystem::path& directory, std::size_t at_most) {
  return read_data_set(directory / "train-images-idx3-ubyte.gz", directory / "train-labels-idx1-ubyte.gz", at_most);
}

data_set read_test_set(const std::filesystem::path& directory, std::size_t at_most) {
  return read_data_set(directory / "t10k-images-idx3-ubyte.gz", directory / "t10k-labels-idx1-ubyte.gz", at_most);
}

}  // namespace fashion_mnist
