#pragma once

#include <cstddef>
#include <cstdint>
#include <sstream>
#include <string>
#include <syncopate/checkpoint.hpp>
#include <vector>

namespace seams {

template <class T>
using model = std::vector<std::vector<T>>;

/// A whole number from −4 to 4 that depends on step, rank and parameter.
inline int number(std::int64_t step, int rank, std::size_t parameter) {
  return static_cast<int>((step * 11 + rank * 5 + static_cast<std::int64_t>(parameter) * 3) % 9) - 4;
}

/// A model with such numbers.
template <class T>
model<T> numbers_like(const model<T>& layout, std::int64_t step, int rank) {
  model<T> made = layout;
  std::size_t parameter = 0;
  for (auto& layer : made)
    for (T& element : layer) element = static_cast<T>(number(step, rank, parameter++));
  return made;
}

/// One step, whole or layer by layer. `gradient_at(weights)` sees the weights that the step is to be computed at.
template <class Scheme, class Model, class Gradient>
void step(Scheme& scheme, Model& weights, bool by_layers, Gradient gradient_at) {
  if (!by_layers) {
    scheme.step(weights, gradient_at(weights));
    return;
  }
  scheme.begin_step(weights);
  for (std::size_t layer = 0; layer < weights.size(); ++layer) scheme.before_forward(layer);
  const Model gradients = gradient_at(weights);
  for (std::size_t layer = weights.size(); layer-- > 0;) scheme.gradient_ready(layer, gradients[layer]);
  scheme.end_step();
}

/// A checkpoint in memory.
template <class Scheme, class Model>
std::string saved(Scheme& scheme, const Model& weights) {
  std::ostringstream stream;
  syncopate::checkpoint_writer archive(stream);
  scheme.save(archive, weights);
  archive.finish();
  return stream.str();
}

template <class Scheme, class Model>
void load(Scheme& scheme, Model& weights, const std::string& checkpoint) {
  std::istringstream stream(checkpoint);
  syncopate::checkpoint_reader archive(stream);
  scheme.load(archive, weights);
  archive.finish();
}

}  // namespace seams
