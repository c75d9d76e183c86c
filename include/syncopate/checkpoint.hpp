#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <istream>
#include <ostream>
#include <span>
#include <string>
#include <system_error>
#include <type_traits>
#include <vector>

#include "detail/engine/agreement.hpp"
#include "error.hpp"

/// Checkpoints as files, for programs that do not have an archive of their own: `save_checkpoint`, `load_checkpoint`.
namespace syncopate {

/// An archive in Boost.Serialization's idiom that writes a checkpoint to a binary stream: numbers, vectors of numbers,
/// and what `save_binary` is given. Ends with its length and a checksum. Not portable between processors of different
/// byte order.
class checkpoint_writer {
 public:
  explicit checkpoint_writer(std::ostream& stream) : stream_(stream) {}

  template <class T>
  requires std::is_arithmetic_v<T> checkpoint_writer& operator&(const T& number) {
    save_binary(&number, sizeof number);
    return *this;
  }
  template <class T>
  requires std::is_arithmetic_v<T> checkpoint_writer& operator&(const std::vector<T>& numbers) {
    *this& static_cast<std::uint64_t>(numbers.size());
    save_binary(numbers.data(), numbers.size() * sizeof(T));
    return *this;
  }
  void save_binary(const void* address, std::size_t bytes) {
    checksum_.add(address, bytes);
    stream_.write(static_cast<const char*>(address), static_cast<std::streamsize>(bytes));
    bytes_ += bytes;
  }

  /// Writes the end. Throws `checkpoint_error` if anything could not be written.
  void finish() {
    const std::uint64_t end[] = {bytes_, checksum_.value()};
    stream_.write(reinterpret_cast<const char*>(end), sizeof end);
    if (!stream_.flush()) throw checkpoint_error("syncopate: the checkpoint cannot be written: is the disk full?");
  }

 private:
  friend class checkpoint_reader;

  /// FNV-1a, eight bytes at a time.
  class running_checksum {
   public:
    void add(const void* address, std::size_t bytes) {
      const auto* next = static_cast<const unsigned char*>(address);
      for (; bytes > 0; --bytes) {
        word_ = word_ << 8 | *next++;
        if (++filled_ == 8) mix();
      }
    }
    std::uint64_t value() const {
      running_checksum last = *this;
      last.mix();
      return last.sum_;
    }

   private:
    void mix() {
      sum_ = (sum_ ^ word_) * 1099511628211u;
      sum_ ^= sum_ >> 29;
      word_ = 0;
      filled_ = 0;
    }
    std::uint64_t sum_ = 14695981039346656037u, word_ = 0;
    int filled_ = 0;
  };

  std::ostream& stream_;
  std::uint64_t bytes_ = 0;
  running_checksum checksum_;
};

/// Reads what a `checkpoint_writer` wrote to a stream that can be rewound.
class checkpoint_reader {
 public:
  /// Throws `checkpoint_error` unless the checkpoint is whole.
  explicit checkpoint_reader(std::istream& stream) : stream_(stream) {
    std::uint64_t end[2];
    stream_.seekg(0, std::ios::end);
    const std::streamoff size = stream_.tellg();
    const auto payload = size - static_cast<std::streamoff>(sizeof end);
    if (!stream_ || payload < 0) refuse("is truncated");
    stream_.seekg(payload);
    stream_.read(reinterpret_cast<char*>(end), sizeof end);
    if (!stream_ || end[0] != static_cast<std::uint64_t>(payload)) refuse("is truncated");
    stream_.seekg(0);
    checkpoint_writer::running_checksum checksum;
    std::vector<char> block(std::size_t{1} << 16);
    for (std::streamoff left = payload; left > 0;) {
      const std::streamoff count = std::min(left, static_cast<std::streamoff>(block.size()));
      if (!stream_.read(block.data(), count)) refuse("cannot be read");
      checksum.add(block.data(), static_cast<std::size_t>(count));
      left -= count;
    }
    if (checksum.value() != end[1]) refuse("is damaged");
    stream_.seekg(0);
    left_ = end[0];
  }

  template <class T>
  requires std::is_arithmetic_v<T> checkpoint_reader& operator&(T& number) {
    if constexpr (std::is_same_v<T, bool>) {
      unsigned char byte = 0;
      load_binary(&byte, 1);
      number = byte != 0;
    } else {
      load_binary(&number, sizeof number);
    }
    return *this;
  }
  template <class T>
  requires std::is_arithmetic_v<T> checkpoint_reader& operator&(std::vector<T>& numbers) {
    std::uint64_t size = 0;
    *this& size;
    if (size > left_ / sizeof(T)) refuse("holds less than what is asked of it");
    numbers.resize(size);
    load_binary(numbers.data(), size * sizeof(T));
    return *this;
  }
  void load_binary(void* address, std::size_t bytes) {
    if (bytes > left_) refuse("holds less than what is asked of it");
    left_ -= bytes;
    if (!stream_.read(static_cast<char*>(address), static_cast<std::streamsize>(bytes))) refuse("cannot be read");
  }

  /// Throws `checkpoint_error` unless everything has been read.
  void finish() const {
    if (left_ > 0) refuse("holds more than what is asked of it");
  }

 private:
  [[noreturn]] static void refuse(const std::string& what) {
    throw checkpoint_error("syncopate: the checkpoint " + what);
  }

  std::istream& stream_;
  std::uint64_t left_ = 0;
};

namespace detail {

/// The file that says which set of files, one per rank, is the newest whole checkpoint.
struct checkpoint_set {
  std::int64_t number = 0;  ///< 0: none
  std::int64_t ranks = 0;

  static std::string title() { return "syncopate checkpoint"; }

  static checkpoint_set read(const std::filesystem::path& path) {
    checkpoint_set found;
    std::ifstream file(path);
    if (!file) {
      if (std::filesystem::exists(path))
        throw checkpoint_error("syncopate: the checkpoint " + path.string() + " cannot be opened");
      return found;
    }
    std::string line;
    std::getline(file, line);
    if (line != title() || !(file >> found.number >> found.ranks) || found.number < 1 || found.ranks < 1)
      throw checkpoint_error("syncopate: " + path.string() + " is no checkpoint of syncopate's");
    return found;
  }

  void write(const std::filesystem::path& path) const {
    std::filesystem::path unfinished = path;
    unfinished += ".new";
    std::ofstream file(unfinished);
    file << title() << "\n" << number << " " << ranks << "\n";
    file.close();
    if (!file) throw checkpoint_error("syncopate: " + unfinished.string() + " cannot be written");
    std::filesystem::rename(unfinished, path);
  }

  std::filesystem::path file_of(const std::filesystem::path& path, int rank) const {
    std::filesystem::path file = path;
    return file += "." + std::to_string(number) + "." + std::to_string(rank);
  }
};

/// What is wrong with `work` on this rank, if anything.
template <class Work>
std::string fault_of(Work work) {
  try {
    work();
    return {};
  } catch (const std::exception& fault) {
    const std::string text = fault.what();
    return text.starts_with("syncopate: ") ? text : "syncopate: " + text;
  }
}

/// Collective. Rank 0 finds out which checkpoint there is, and tells.
template <class C>
checkpoint_set newest_checkpoint(C& communicator, const std::filesystem::path& path) {
  checkpoint_set set;
  agree_on_fault<checkpoint_error>(communicator, fault_of([&] {
                                     if (communicator.rank() == 0) set = checkpoint_set::read(path);
                                   }));
  communicator.broadcast(std::as_writable_bytes(std::span(&set, 1)), 0);
  return set;
}

}  // namespace detail

/// Collective. Writes the scheme, `weights` and `more`, numbers or vectors of numbers of the program's own, to files:
/// one for each rank beside `path`, then `path` itself, which names them. A crash at any moment leaves the checkpoint
/// before it, or the new one. Training goes on undisturbed; see `update_scheme::save`.
///
/// Ranks on different machines may have different disks: only rank 0 reads and writes `path` itself. Throws
/// `checkpoint_error` on all ranks where one of them cannot write; the checkpoint before is kept then.
template <class Scheme, class W, class... More>
void save_checkpoint(const std::filesystem::path& path, Scheme& scheme, W&& weights, const More&... more) {
  auto& communicator = scheme.communicator();
  const int rank = communicator.rank();
  const auto agree = [&](auto work) { detail::agree_on_fault<checkpoint_error>(communicator, detail::fault_of(work)); };
  const detail::checkpoint_set before = detail::newest_checkpoint(communicator, path);
  const detail::checkpoint_set set{before.number + 1, communicator.size()};
  const std::filesystem::path file = set.file_of(path, rank);
  agree([&] {
    std::ofstream stream(file, std::ios::binary | std::ios::trunc);
    if (!stream) throw checkpoint_error("syncopate: " + file.string() + " cannot be opened for writing");
    checkpoint_writer archive(stream);
    scheme.save(archive, weights);
    (void)(archive & ... & more);
    archive.finish();
  });
  agree([&] {
    if (rank == 0) set.write(path);
  });
  std::error_code ignored;  // a file too many is no reason to stop
  if (before.number > 0) std::filesystem::remove(before.file_of(path, rank), ignored);
}

/// Collective. Reads what `save_checkpoint` wrote last, into a new scheme, `weights` and `more`; false if there is no
/// such file. Throws `checkpoint_error` on all ranks where some rank's file is missing, truncated or damaged, or
/// belongs to another scheme, layout, version or number of ranks; nothing has been changed if it is not whole.
template <class Scheme, class W, class... More>
bool load_checkpoint(const std::filesystem::path& path, Scheme& scheme, W&& weights, More&... more) {
  auto& communicator = scheme.communicator();
  const auto agree = [&](auto work) { detail::agree_on_fault<checkpoint_error>(communicator, detail::fault_of(work)); };
  const detail::checkpoint_set set = detail::newest_checkpoint(communicator, path);
  if (set.number == 0) return false;
  if (set.ranks != communicator.size())
    throw checkpoint_error("syncopate: the checkpoint belongs to a number of ranks of " + std::to_string(set.ranks) +
                           ", not " + std::to_string(communicator.size()));
  const std::filesystem::path file = set.file_of(path, communicator.rank());
  std::ifstream stream(file, std::ios::binary);
  std::vector<checkpoint_reader> archive;  // one, once it is known to be whole
  agree([&] {
    if (!stream) throw checkpoint_error("syncopate: " + file.string() + " cannot be opened");
    archive.emplace_back(stream);
  });
  scheme.load(archive[0], weights);
  agree([&] {
    (void)(archive[0] & ... & more);
    archive[0].finish();
  });
  return true;
}

}  // namespace syncopate
