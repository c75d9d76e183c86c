#pragma once

#if __has_include(<xtensor/core/xtensor_forward.hpp>)
#include <xtensor/core/xtensor_forward.hpp>  // since xtensor 0.26
#else
#include <xtensor/xtensor_forward.hpp>
#endif

#include <cstddef>
#include <span>
#include <type_traits>

#include "../tensor.hpp"

/// xtensor's containers as tensors: `xt::xarray`, `xt::xtensor` and `xt::xtensor_fixed` of any layout, and
/// `xt::xarray_adaptor` and `xt::xtensor_adaptor` (`xt::adapt`) of a layout that is known at compile time. Row-major
/// ones are contiguous ranges and need no adaptor. Elements are visited in the order in which they lie in memory, so
/// all ranks must use the same layout, and a weight the same as its gradient.
///
/// Adaptors with strides chosen at run time, strided views and unevaluated expressions are refused: they need not be
/// contiguous. Evaluate them into a container first.
namespace syncopate {

namespace detail {

/// By way of the storage, since `data()` of an adaptor of constant memory does not compile on a variable.
template <class X>
struct xtensor_elements {
  static constexpr auto elements(X& tensor) { return std::span(tensor.storage().data(), tensor.size()); }
  static constexpr auto elements(const X& tensor) { return std::span(tensor.storage().data(), tensor.size()); }
};

}  // namespace detail

template <class Storage, xt::layout_type Layout, class Shape, class Tag>
requires Element<typename Storage::value_type>
struct tensor_traits<xt::xarray_container<Storage, Layout, Shape, Tag>>
    : detail::xtensor_elements<xt::xarray_container<Storage, Layout, Shape, Tag>> {
};

template <class Storage, std::size_t Rank, xt::layout_type Layout, class Tag>
requires Element<typename Storage::value_type>
struct tensor_traits<xt::xtensor_container<Storage, Rank, Layout, Tag>>
    : detail::xtensor_elements<xt::xtensor_container<Storage, Rank, Layout, Tag>> {
};

template <Element T, class Shape, xt::layout_type Layout, bool Sharable, class Tag>
struct tensor_traits<xt::xfixed_container<T, Shape, Layout, Sharable, Tag>>
    : detail::xtensor_elements<xt::xfixed_container<T, Shape, Layout, Sharable, Tag>> {};

template <class Storage, xt::layout_type Layout, class Shape, class Tag>
requires(Layout == xt::layout_type::row_major || Layout == xt::layout_type::column_major) &&
    Element<typename std::remove_reference_t<Storage>::value_type> struct tensor_traits<
        xt::xarray_adaptor<Storage, Layout, Shape, Tag>>
    : detail::xtensor_elements<xt::xarray_adaptor<Storage, Layout, Shape, Tag>> {
};

template <class Storage, std::size_t Rank, xt::layout_type Layout, class Tag>
requires(Layout == xt::layout_type::row_major || Layout == xt::layout_type::column_major) &&
    Element<typename std::remove_reference_t<Storage>::value_type> struct tensor_traits<
        xt::xtensor_adaptor<Storage, Rank, Layout, Tag>>
    : detail::xtensor_elements<xt::xtensor_adaptor<Storage, Rank, Layout, Tag>> {
};

}  // namespace syncopate
