#pragma once

#include <benchmark/benchmark.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "../detail/elements/buffer.hpp"
#include "../tensor.hpp"

namespace syncopate {

/// What an update that is written by hand works on: vectors of `size` elements, which lie in memory as the engine's do.
/// Those besides weights and gradient are zero at the start. An update that hides communication writes `message` and
/// reads `landed`, the message of the call before; one that does not hide it reads the message it has just written.
template <Element T>
struct update_by_hand {
  std::size_t size = 0;
  std::int64_t step = 0;  ///< earlier calls
  T* weights = nullptr;
  const T* gradient = nullptr;
  T* message = nullptr;
  const T* landed = nullptr;
  T* kept = nullptr;  ///< a second vector that goes with each message
  const T* kept_with_landed = nullptr;
  std::array<T*, 7> state{};
};

namespace detail {

/// The vectors of an update by hand.
template <class T>
class vectors_by_hand {
 public:
  /// Gradients take turns.
  vectors_by_hand(std::span<const T> weights, std::array<std::span<const T>, 2> gradients)
      : weights_(weights.begin(), weights.end()) {
    for (std::size_t g = 0; g < 2; ++g) gradients_[g].assign(gradients[g].begin(), gradients[g].end());
    for (buffer<T>& vector : own_) vector = buffer<T>(weights.size());
    update_.size = weights.size();
    update_.weights = weights_.data();
    for (std::size_t v = 0; v < update_.state.size(); ++v) update_.state[v] = own_[v + 4].data();
  }

  void run(const std::function<void(update_by_hand<T>&)>& update) {
    const std::size_t now = update_.step % 2 == 0 ? 0 : 1;
    update_.gradient = gradients_[now].data();
    update_.message = own_[now].data();
    update_.landed = own_[1 - now].data();
    update_.kept = own_[2 + now].data();
    update_.kept_with_landed = own_[3 - now].data();
    update(update_);
    benchmark::ClobberMemory();
    ++update_.step;
  }

  std::span<const T> weights() const { return weights_; }

 private:
  std::vector<T> weights_;
  std::array<std::vector<T>, 2> gradients_;
  std::array<buffer<T>, 11> own_;
  update_by_hand<T> update_;
};

}  // namespace detail

}  // namespace syncopate
