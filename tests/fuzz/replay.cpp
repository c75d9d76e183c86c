// For compilers without libFuzzer: runs every file of the directories that are its arguments.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size);

int main(int argc, char** argv) {
  int inputs = 0;
  for (int i = 1; i < argc; ++i)
    for (const auto& file : std::filesystem::directory_iterator(argv[i])) {
      std::puts(file.path().filename().c_str());
      std::ifstream stream(file.path(), std::ios::binary);
      const std::vector<char> content{std::istreambuf_iterator<char>(stream), {}};
      const std::vector<std::uint8_t> bytes(content.begin(), content.end());
      LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
      ++inputs;
    }
  return inputs > 0 ? 0 : 1;
}
