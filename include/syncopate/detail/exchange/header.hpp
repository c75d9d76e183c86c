#pragma once

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <type_traits>

#include "../../error.hpp"
#include "../../tensor.hpp"
#include "../by_rank.hpp"
#include "../elements/contribution.hpp"
#include "../elements/mix.hpp"

/// What ranks tell each other with every message, so that a disagreement is the same error on all of them. A message
/// ends with a few elements for each rank: the sum over ranks, to which each adds zeros but in its own place, brings
/// everyone's header to everyone, without a message more.
namespace syncopate::detail {

/// What a rank called to send a message.
enum class calls { step, join, consensus };

/// What one rank says of its message.
struct header {
  std::int64_t step = 0;  ///< on the clock that all ranks share
  calls call = calls::step;
  bool finite = true;                 ///< whether what the rank wanted to contribute was; it contributes zeros, if not
  double samples = 0;                 ///< the rank's weight in the mean
  double loss = 0;                    ///< of its mini-batch, where the program has told it
  observed_squares squares{};         ///< of what it contributes, as far as that has left, where that is observed
  std::uint64_t hyperparameters = 0;  ///< a hash of their values

  std::string text() const {
    return (call == calls::step   ? "step "
            : call == calls::join ? "join or finish at step "
                                  : "consensus at step ") +
           std::to_string(step);
  }
};

/// A header as elements of a message:
///
/// | element | holds                                                                      |
/// |---------|----------------------------------------------------------------------------|
/// | 0       | samples                                                                    |
/// | 1       | step, call and finite, as a whole number below 2^24, which a float holds    |
/// | 2       | loss                                                                       |
/// | 3 … 5   | squares: all, latest, earlier; where they are observed                     |
/// | last    | a check, and what tells hyper-parameters apart                             |
inline constexpr std::size_t header_elements = 4, observing_header_elements = 7;

template <Element T>
class coded_header {
  static constexpr std::int64_t steps = std::int64_t{1} << 20;  ///< larger numbers are told from nearby ones
  static constexpr std::uint32_t values_bits = 12, check_bits = 18;

 public:
  /// Of 4 or 7 elements, as many as are given.
  static void write(std::span<T> elements, const header& h) {
    elements[0] = static_cast<T>(h.samples + 0.0);  // zeros are positive: sums make them so
    elements[1] = static_cast<T>(h.step % steps * 8 + static_cast<int>(h.call) * 2 + (h.finite ? 1 : 0));
    elements[2] = static_cast<T>(h.loss + 0.0);
    if (observes(elements)) {
      elements[3] = static_cast<T>(h.squares.all);
      elements[4] = static_cast<T>(h.squares.latest);
      elements[5] = static_cast<T>(h.squares.earlier);
    }
    // With the step, so that two sets of values that look alike in one message do not in the next.
    const auto values =
        static_cast<std::uint32_t>(mix(h.hyperparameters, static_cast<std::uint64_t>(h.step)) >> (64 - values_bits));
    elements.back() = carrying(check_of(elements, values) | values << check_bits);
  }

  /// Whether nobody has altered it.
  static bool intact(std::span<const T> elements) {
    const std::optional<std::uint32_t> last = carried_by(elements.back());
    return last && *last % (1u << check_bits) == check_of(elements, *last >> check_bits);
  }

  /// Differs where hyper-parameters do. Precondition: it is intact.
  static std::uint32_t hyperparameters(std::span<const T> elements) {
    return *carried_by(elements.back()) >> check_bits;
  }

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

  /// Thirty bits as an element that a sum with zeros leaves as it is: of a float, the bits of a number that is neither
  /// subnormal, infinite nor NaN.
  static T carrying(std::uint32_t bits) {
    if constexpr (sizeof(T) == sizeof bits)
      return std::bit_cast<T>(bits + lowest_normal);
    else
      return static_cast<T>(bits);
  }
  /// Those bits, if the element can have been made of any.
  static std::optional<std::uint32_t> carried_by(T element) {
    constexpr std::uint32_t all = 1u << (values_bits + check_bits);
    if constexpr (sizeof(T) == sizeof all) {
      const std::uint32_t bits = std::bit_cast<std::uint32_t>(element) - lowest_normal;
      return bits < all ? std::optional(bits) : std::nullopt;
    } else {
      const bool whole = element >= 0 && element < all && element == std::floor(element) && !std::signbit(element);
      return whole ? std::optional(static_cast<std::uint32_t>(element)) : std::nullopt;
    }
  }
  static constexpr std::uint32_t lowest_normal = 0x00800000u;

  /// A number that depends on all bits of the elements but the last, and on what that holds besides.
  static std::uint32_t check_of(std::span<const T> elements, std::uint32_t values) {
    return observes(elements) ? check_of<observing_header_elements - 1>(elements.data(), values)
                              : check_of<header_elements - 1>(elements.data(), values);
  }
  template <std::size_t N>
  static std::uint32_t check_of(const T* elements, std::uint32_t values) {
    std::uint64_t mixed = 0x9e3779b97f4a7c15u + values;
    const auto add = [&]<std::size_t Bytes>(std::integral_constant<std::size_t, Bytes>, const T* from) {
      std::uint64_t word = 0;
      std::memcpy(&word, from, Bytes);
      mixed = mix(mixed, word);
    };
    constexpr std::size_t at_once = sizeof(std::uint64_t) / sizeof(T);
    for (std::size_t i = 0; i + at_once <= N; i += at_once)
      add(std::integral_constant<std::size_t, sizeof(std::uint64_t)>(), elements + i);
    if constexpr (N % at_once > 0) add(std::integral_constant<std::size_t, sizeof(T)>(), elements + N - 1);
    return static_cast<std::uint32_t>(mixed >> (64 - check_bits));  // these depend on all bits of all words
  }
};

/// What all ranks said together.
struct agreed_headers {
  double samples = 0;                    ///< of all ranks
  bool all_joined = true;                ///< whether no rank has anything left to do
  bool finite = true;                    ///< whether all contributions were
  std::optional<int> not_finite_rank{};  ///< the first one whose contribution was not, where that is known
  int contributors = 0;                  ///< ranks that had samples
  bool whole_samples = true;             ///< whether all of them had a whole number of samples, and few enough to count
  double loss = 0;                       ///< mean, by samples
  observed_squares squares{};            ///< likewise
};

/// The headers of a message that has landed, each of `length` elements, which begin `stride` elements apart.
template <Element T>
class landed_headers {
 public:
  landed_headers(std::span<const T> all, std::size_t length, std::size_t stride, int ranks, std::int64_t step)
      : all_(all), length_(length), stride_(stride), ranks_(ranks), step_(step) {}

  /// Throws `communication_error`, the same on every rank, where ranks called different things, or have other
  /// hyper-parameters, or where a header was damaged. Where ranks may differ in these, as `ranks_differ` tells, those
  /// of a rank that has joined are its last step's.
  agreed_headers read(bool ranks_differ = false) const {
    require_intact();
    require_same_calls(ranks_differ);
    agreed_headers agreed;
    T samples(0);
    for (int rank = 0; rank < ranks_; ++rank) {
      const header h = of(rank);
      samples += elements_of(rank)[0];
      add(h, rank, agreed);
    }
    agreed.samples = static_cast<double>(samples);
    if (agreed.contributors > 0)
      for (double* const mean : {&agreed.loss, &agreed.squares.all, &agreed.squares.latest, &agreed.squares.earlier})
        *mean /= agreed.samples;
    return agreed;
  }

 private:
  std::span<const T> elements_of(int rank) const {
    return all_.subspan(static_cast<std::size_t>(rank) * stride_, length_);
  }
  header of(int rank) const { return coded_header<T>::read(elements_of(rank), step_); }

  void require_intact() const {
    for (int rank = 0; rank < ranks_; ++rank)
      if (!coded_header<T>::intact(elements_of(rank)))
        throw communication_error("syncopate: the header that rank " + std::to_string(rank) +
                                  " sent with its message of about step " + std::to_string(step_) + " arrived damaged");
  }

  void require_same_calls(bool ranks_differ) const {
    const header first = of(0);
    const std::uint32_t values = coded_header<T>::hyperparameters(elements_of(0));
    bool same_values = true, all_in_steps = true;
    for (int rank = 0; rank < ranks_; ++rank) {
      const header h = of(rank);
      if (h.step != first.step || (h.call == calls::consensus) != (first.call == calls::consensus))
        throw communication_error("syncopate: ranks called different things: " +
                                  by_rank(ranks_, [&](int r) { return of(r).text(); }));
      same_values = same_values && coded_header<T>::hyperparameters(elements_of(rank)) == values;
      all_in_steps = all_in_steps && h.call == calls::step;
    }
    if (!same_values && (all_in_steps || !ranks_differ))
      throw communication_error("syncopate: ranks have different hyper-parameters at step " +
                                std::to_string(first.step) + ": " + by_rank(ranks_, [&](int r) {
                                  return "values " + std::to_string(coded_header<T>::hyperparameters(elements_of(r)));
                                }));
  }

  static void add(const header& h, int rank, agreed_headers& agreed) {
    agreed.whole_samples = agreed.whole_samples && h.samples == std::floor(h.samples) && h.samples < 1 << 14;
    if (h.samples > 0) {
      ++agreed.contributors;
      agreed.loss += h.samples * h.loss;
      agreed.squares.all += h.samples * h.squares.all;
      agreed.squares.latest += h.samples * h.squares.latest;
      agreed.squares.earlier += h.samples * h.squares.earlier;
    }
    agreed.all_joined = agreed.all_joined && h.call == calls::join;
    agreed.finite = agreed.finite && h.finite;
    if (!h.finite && !agreed.not_finite_rank) agreed.not_finite_rank = rank;
  }

  std::span<const T> all_;
  std::size_t length_, stride_;
  int ranks_;
  std::int64_t step_;
};

/// Reads headers that lie next to each other.
template <Element T>
agreed_headers read_headers(std::span<const T> all, std::size_t length, std::int64_t step, bool ranks_differ = false) {
  return landed_headers<T>(all, length, length, static_cast<int>(all.size() / length), step).read(ranks_differ);
}

}  // namespace syncopate::detail
