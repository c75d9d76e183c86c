#pragma once

#include <cstddef>
#include <span>
#include <type_traits>

/// What a scheme needs of an archive, in Boost.Serialization's idiom: `archive & number` in both directions, and for
/// long vectors `save_binary(address, bytes)` or `load_binary(address, bytes)`, where an archive has that.
namespace syncopate::detail {

template <class Archive, class T>
void put(Archive& archive, T number) {
  archive& number;
}

template <class Archive, class T>
void put(Archive& archive, std::span<const T> elements) {
  if constexpr (requires { archive.save_binary(elements.data(), elements.size_bytes()); }) {
    if (!elements.empty()) archive.save_binary(elements.data(), elements.size_bytes());
  } else {
    for (const T element : elements) put(archive, element);
  }
}

template <class T, class Archive>
T get(Archive& archive) {
  T number{};
  archive& number;
  return number;
}

template <class Archive, class T>
void get(Archive& archive, std::span<T> elements) {
  if constexpr (requires { archive.load_binary(elements.data(), elements.size_bytes()); }) {
    if (!elements.empty()) archive.load_binary(elements.data(), elements.size_bytes());
  } else {
    for (T& element : elements) element = get<T>(archive);
  }
}

}  // namespace syncopate::detail
