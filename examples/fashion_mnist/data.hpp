#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <vector>

#include "syncopate/error.hpp"
#include "xtensor.hpp"

namespace fashion_mnist {

/// A data file is missing, damaged, or does not fit the other one. The message names the file.
class data_error : public syncopate::error {
 public:
  using error::error;
};

/// Images and their labels, as the files hold them: one byte for each pixel, one row for each image.
struct data_set {
  xt::xtensor<std::uint8_t, 2> images;
  std::vector<std::uint8_t> labels;

  std::size_t size() const { return labels.size(); }
};

inline constexpr std::size_t pixels = 28 * 28;
inline constexpr std::size_t classes = 10;

/// A file's content after decompression, and where it came from, to name it by.
struct unpacked_file {
  std::filesystem::path path;
  std::vector<char> bytes;
};

/// Checks a pair of IDX files, and keeps at most the first `at_most` samples. Throws `data_error`.
data_set parse(const unpacked_file& images, const unpacked_file& labels, std::size_t at_most);

/// Reads a pair of gzip-compressed IDX files whole, and parses them. Throws `data_error`.
data_set read_data_set(const std::filesystem::path& images, const std::filesystem::path& labels,
                       std::size_t at_most = std::numeric_limits<std::size_t>::max());

/// The training and the test part by the names that they are published under.
data_set read_training_set(const std::filesystem::path& directory,
                           std::size_t at_most = std::numeric_limits<std::size_t>::max());
data_set read_test_set(const std::filesystem::path& directory,
                       std::size_t at_most = std::numeric_limits<std::size_t>::max());

}  // namespace fashion_mnist
