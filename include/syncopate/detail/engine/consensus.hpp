#pragma once

#include <cstdint>
#include <span>

#include "../bodies.hpp"
#include "../elements/message_layout.hpp"
#include "../elements/slice.hpp"
#include "../exchange/wire.hpp"
#include "layout.hpp"
#if SYNCOPATE_BODIES
#include <algorithm>
#include <utility>

#include "../elements/buffer.hpp"
#include "../exchange/header.hpp"
#endif

/// The model to evaluate, part by part. Read are weights that were bound as gradients are, written what was bound as
/// weights.
namespace syncopate::detail {

/// Collective, blocking. The mean over ranks of what is read; for averagings whose ranks hold weights of their own.
void take_mean_of_ranks(wire& ranks, std::int64_t step, const message_layout& layout, std::size_t element_bytes,
                        std::span<const tensor_ref> tensors);
/// What is kept, from the part's first element on; for averagings that look ahead, whose user's tensors hold
/// predictions.
void copy_kept_weights(const void* kept, const message_layout& layout, std::span<const tensor_ref> tensors);
/// What is read; for all others.
void copy_read_weights(const message_layout& layout, std::span<const tensor_ref> tensors);

#if SYNCOPATE_BODIES

SYNCOPATE_FUNCTION void take_mean_of_ranks(wire& ranks, std::int64_t step, const message_layout& layout,
                                           std::size_t element_bytes, std::span<const tensor_ref> tensors) {
  with_element_of(element_bytes, [&]<class T>(T) {
    const auto size = static_cast<std::size_t>(ranks.size()), own = static_cast<std::size_t>(ranks.rank());
    buffer<T> sum(layout.size + header_elements * size);
    const std::span<T> headers = sum.elements().subspan(layout.size);
    for (const slice& s : layout.sent) std::copy_n(tensors[s.tensor].gradient_as<T>(), s.size, sum.data() + s.offset);
    coded_header<T>::write(headers.subspan(own * header_elements, header_elements), {step, calls::consensus, true, 1});
    const auto moving = ranks.make_flight(element_bytes);
    try {
      moving->start(collective::sum, sum.data(), sum.size(), false);
      moving->wait();
    } catch (...) {
      std::move(sum).abandon();
      throw;
    }
    read_headers(std::span<const T>(headers), header_elements, step);
    for (const slice& s : layout.sent)
      for (std::size_t i = 0; i < s.size; ++i)
        tensors[s.tensor].weights_as<T>()[i] = sum[s.offset + i] / static_cast<T>(ranks.size());
  });
}

SYNCOPATE_FUNCTION void copy_kept_weights(const void* kept, const message_layout& layout,
                                          std::span<const tensor_ref> tensors) {
  for (const slice& s : layout.sent)
    with_element_of(tensors[s.tensor].element_bytes, [&]<class T>(T) {
      std::copy_n(static_cast<const T*>(kept) + s.offset, s.size, tensors[s.tensor].weights_as<T>() + s.from);
    });
}

SYNCOPATE_FUNCTION void copy_read_weights(const message_layout& layout, std::span<const tensor_ref> tensors) {
  for (const slice& s : layout.sent)
    with_element_of(tensors[s.tensor].element_bytes, [&]<class T>(T) {
      const T* const from = tensors[s.tensor].gradient_as<T>() + s.from;
      T* const to = tensors[s.tensor].weights_as<T>() + s.from;
      if (from != to) std::copy_n(from, s.size, to);
    });
}

#endif

}  // namespace syncopate::detail
