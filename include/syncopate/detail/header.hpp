#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <type_traits>

#include "../error.hpp"
#include "../tensor.hpp"
#include "by_rank.hpp"

/// What ranks tell each other with every message, so that a disagreement is the same error on all of them. A message
/// ends with a few elements for each rank: the sum over ranks, to which each adds zeros but in its own place, brings
/// everyone's header to everyone, without a message more.
namespace syncopate::detail {

/// What a rank called to send a message.
enum class calls { step, join, consensus };

/// Sums of squares of a contribution's elements.
struct observed_squares {
  double all = 0;
  double latest = 0;   ///< of what the last step has added to it
  double earlier = 0;  ///< of what the steps before have brought together
};

/// What one rank says of its message.
struct header {
  std::int64_t step = 0;  ///< on the clock that all ranks share
  calls call = calls::step;
  bool finite = true;          ///< whether what the rank wanted to contribute was; it contributes zeros, if not
  double samples = 0;          ///< the rank's weight in the mean
  double loss = 0;             ///< of its mini-batch, where the program has told it
  observed_squares squares{};  ///< of what it contributes, as far as that has left, where that is observed

  std::string text() const {
    return (call == calls::step   ? "step "
            : call == calls::join ? "join or finish at step "
                                  : "consensus at step ") +
           std::to_string(step);
  }
};

/// Length of one rank's header, and of one with what is observed of gradients.
inline constexpr std::size_t header_elements = 4, observing_header_elements = 7;

/// A header as elements of a message: of as many as there are. The code and the check are whole numbers below 2^24,
/// which a float holds exactly.
template <Element T>
class coded_header {
  static constexpr std::int64_t steps = std::int64_t{1} << 20;  ///< larger numbers are told from nearby ones

 public:
  static void write(std::span<T> elements, const header& h) {
    elements[0] = static_cast<T>(h.samples + 0.0);  // zeros are positive: sums make them so
    elements[1] = static_cast<T>(h.step % steps * 8 + static_cast<int>(h.call) * 2 + (h.finite ? 1 : 0));
    elements[2] = static_cast<T>(h.loss + 0.0);
    if (observes(elements)) {
      elements[3] = static_cast<T>(h.squares.all);
      elements[4] = static_cast<T>(h.squares.latest);
      elements[5] = static_cast<T>(h.squares.earlier);
    }
    elements.back() = check_of(elements);
  }

  /// Whether nobody has altered it.
  static bool intact(std::span<const T> elements) { return elements.back() == check_of(elements); }

  /// Precondition: it is intact. `near` is a number of a step close to the one that was written.
  static header read(std::span<const T> elements, std::int64_t near) {
    const auto code = static_cast<std::int64_t>(elements[1]);
    const std::int64_t apart = ((code / 8 - near) % steps + steps + steps / 2) % steps - steps / 2;
    header h{near + apart, static_cast<calls>(code / 2 % 4), code % 2 != 0, static_cast<double>(elements[0]),
             static_cast<double>(elements[2])};
    if (observes(elements)) {
      h.squares = {static_cast<double>(elements[3]), static_cast<double>(elements[4]),
                   static_cast<double>(elements[5])};
    }
    return h;
  }

 private:
  static bool observes(std::span<const T> elements) { return elements.size() == observing_header_elements; }

  /// A number that depends on all bits of the elements but the last.
  static T check_of(std::span<const T> elements) {
    return observes(elements) ? check_of<observing_header_elements - 1>(elements.data())
                              : check_of<header_elements - 1>(elements.data());
  }
  template <std::size_t N>
  static T check_of(const T* elements) {
    std::uint64_t mixed = 0x9e3779b97f4a7c15u;
    const auto mix = [&]<std::size_t Bytes>(std::integral_constant<std::size_t, Bytes>, const T* from) {
      std::uint64_t word = 0;
      std::memcpy(&word, from, Bytes);
      mixed = (mixed ^ word) * 0xff51afd7ed558ccdu;
      mixed ^= mixed >> 32;
    };
    constexpr std::size_t at_once = sizeof(std::uint64_t) / sizeof(T);
    for (std::size_t i = 0; i + at_once <= N; i += at_once)
      mix(std::integral_constant<std::size_t, sizeof(std::uint64_t)>(), elements + i);
    if constexpr (N % at_once > 0) mix(std::integral_constant<std::size_t, sizeof(T)>(), elements + N - 1);
    return static_cast<T>(1 + mixed % ((std::uint64_t{1} << 24) - 1));
  }
};

/// What all ranks said together.
struct agreed_headers {
  double samples = 0;          ///< of all ranks
  bool all_joined = true;      ///< whether no rank has anything left to do
  int not_finite_rank = -1;    ///< the first one whose contribution was not finite, if any
  int contributors = 0;        ///< ranks that had samples
  bool whole_samples = true;   ///< whether all of them had a whole number of samples, and few enough to count
  double loss = 0;             ///< mean, by samples
  observed_squares squares{};  ///< likewise
};

/// Reads the headers of a message that has landed, each of `length` elements, which begin `stride` elements apart.
/// Throws `communication_error`, the same on every rank, where ranks called different things, or where a header was
/// damaged.
template <Element T>
agreed_headers read_headers(std::span<const T> all, std::size_t length, std::size_t stride, std::size_t ranks,
                            std::int64_t step) {
  const auto of = [&](std::size_t rank) { return all.subspan(rank * stride, length); };
  const auto read = [&](std::size_t rank) { return coded_header<T>::read(of(rank), step); };
  for (std::size_t rank = 0; rank < ranks; ++rank)
    if (!coded_header<T>::intact(of(rank)))
      throw communication_error("syncopate: the header that rank " + std::to_string(rank) +
                                " sent with its message of about step " + std::to_string(step) + " arrived damaged");
  agreed_headers agreed;
  T samples(0);
  const header first = read(0);
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    const header h = read(rank);
    if (h.step != first.step || (h.call == calls::consensus) != (first.call == calls::consensus))
      throw communication_error(
          "syncopate: ranks called different things: " +
          by_rank(static_cast<int>(ranks), [&](int r) { return read(static_cast<std::size_t>(r)).text(); }));
    samples += of(rank)[0];
    agreed.whole_samples = agreed.whole_samples && h.samples == std::floor(h.samples) && h.samples < 1 << 14;
    if (h.samples > 0) {
      ++agreed.contributors;
      agreed.loss += h.samples * h.loss;
      agreed.squares.all += h.samples * h.squares.all;
      agreed.squares.latest += h.samples * h.squares.latest;
      agreed.squares.earlier += h.samples * h.squares.earlier;
    }
    agreed.all_joined = agreed.all_joined && h.call == calls::join;
    if (!h.finite && agreed.not_finite_rank < 0) agreed.not_finite_rank = static_cast<int>(rank);
  }
  agreed.samples = static_cast<double>(samples);
  if (agreed.contributors > 0) {
    for (double* const mean : {&agreed.loss, &agreed.squares.all, &agreed.squares.latest, &agreed.squares.earlier})
      *mean /= agreed.samples;
  }
  return agreed;
}

/// The same where they lie next to each other.
template <Element T>
agreed_headers read_headers(std::span<const T> all, std::size_t length, std::int64_t step) {
  return read_headers(all, length, length, all.size() / length, step);
}

}  // namespace syncopate::detail
