// Files of Fashion-MNIST as nobody published them. The first two bytes of an input say how many of the others are the
// file of labels; the rest is the file of images. Both are unpacked already.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <vector>

#include "../../examples/fashion_mnist/data.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  if (size < 2) return 0;
  const std::span<const std::uint8_t> files(bytes + 2, size - 2);
  const std::size_t length = std::min<std::size_t>(bytes[0] + 256u * bytes[1], files.size());
  const auto file = [](const char* name, std::span<const std::uint8_t> content) {
    return fashion_mnist::unpacked_file{name, std::vector<char>(content.begin(), content.end())};
  };
  try {
    const fashion_mnist::data_set data =
        fashion_mnist::parse(file("images", files.subspan(length)), file("labels", files.first(length)), 3);
    if (data.size() == 0 || data.size() > 3 || data.images.shape(0) != data.size() ||
        data.images.shape(1) != fashion_mnist::pixels)
      std::abort();
  } catch (const fashion_mnist::data_error&) {  // NOLINT(bugprone-empty-catch): that is what it shall say
  }
  return 0;
}
