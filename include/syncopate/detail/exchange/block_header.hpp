#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "../../error.hpp"
#include "../../tensor.hpp"
#include "header.hpp"

/// What ranks tell each other with a message that is summed in halves. No rank sees the sum of all of it halfway, and
/// one header for each rank in each rank's block would soon outweigh the elements. So what a rank has to know before it
/// may update its block is summed; and everyone's own header, with the sums that it was given, travels back with the
/// block.
namespace syncopate::detail {

/// Elements that a block ends with besides a rank's header; and all of them, where nothing is observed of gradients.
inline constexpr std::size_t block_sums = 3, block_header_elements = header_elements + block_sums;

/// Writes what is summed: samples, how many ranks' contributions are not finite, how many ranks have joined, and what
/// tells whether all are at one step. Small whole numbers, which a float adds up exactly for up to 2^16 ranks.
template <Element T>
void write_summed_header(std::span<T> elements, const header& own) {
  const auto code = static_cast<T>(own.step % 16);
  elements[0] = static_cast<T>(own.samples);
  elements[1] = own.finite ? T(0) : T(1);
  elements[2] = own.call == calls::join ? T(1) : T(0);
  elements[3] = code;
  elements[4] = code * code;
  for (std::size_t i = 5; i < elements.size(); ++i) elements[i] = T(0);
}

/// Reads it. Where steps differ, or something was damaged, there are no samples; the gathered headers will tell why.
/// Whose contribution was not finite is not known yet.
template <Element T>
agreed_headers read_summed_header(std::span<const T> elements, int ranks) {
  const auto of = [&](std::size_t i) { return static_cast<double>(elements[i]); };
  const bool credible = ranks * of(4) == of(3) * of(3) && 0 <= of(1) && of(1) <= ranks && 0 <= of(2) &&
                        of(2) <= ranks && of(0) >= 0 && std::isfinite(of(0));
  agreed_headers agreed;
  agreed.all_joined = credible && of(2) == ranks;
  agreed.finite = !credible || !(of(1) > 0);
  agreed.samples = credible ? of(0) : 0;
  return agreed;
}

/// Whether all contributions were finite, and whether all ranks have joined, as one number.
template <Element T>
T coded_flags(const agreed_headers& headers) {
  return static_cast<T>((headers.finite ? 0 : 1) + (headers.all_joined ? 2 : 0));
}

/// Writes what is gathered: this rank's own header, what it read of the sums, and the sum of squares of its block.
template <Element T>
void write_gathered_header(std::span<T> elements, const header& own, const agreed_headers& read,
                           double squares_of_sum) {
  const std::size_t length = elements.size() - block_sums;
  coded_header<T>::write(elements.first(length), own);
  const std::span<T> rest = elements.subspan(length);
  rest[0] = static_cast<T>(read.samples);
  rest[1] = coded_flags<T>(read);
  rest[2] = static_cast<T>(squares_of_sum);
}

/// The sum of squares of all blocks; arguments as of `read_gathered_headers`.
template <Element T>
double read_squares_of_sum(std::span<const T> first, std::size_t length, std::size_t stride, int ranks) {
  double sum = 0;
  for (int rank = 0; rank < ranks; ++rank)
    sum += static_cast<double>(first[static_cast<std::size_t>(rank) * stride + length + 2]);
  return sum;
}

/// Reads the headers of all blocks, of `length` elements and `stride` elements apart. Throws as `landed_headers::read`
/// does, and where a rank was given other sums than those of what the ranks say.
template <Element T>
agreed_headers read_gathered_headers(std::span<const T> first, std::size_t length, std::size_t stride, int ranks,
                                     std::int64_t step) {
  const agreed_headers agreed = landed_headers<T>(first, length, stride, ranks, step).read();
  // Sums of whole numbers are exact; others may have been rounded in different orders.
  const double slack = agreed.whole_samples ? 0 : 1e-6 * ranks * agreed.samples;
  for (int rank = 0; rank < ranks; ++rank) {
    const std::span<const T> sums = first.subspan(static_cast<std::size_t>(rank) * stride + length);
    if (!(std::abs(static_cast<double>(sums[0]) - agreed.samples) <= slack) || sums[1] != coded_flags<T>(agreed))
      throw communication_error("syncopate: the header that rank " + std::to_string(rank) +
                                " received with its block of the message of step " + std::to_string(step) +
                                " arrived damaged");
  }
  return agreed;
}

}  // namespace syncopate::detail
