#pragma once

#include <Eigen/Core>
#include <cstddef>
#include <span>

#include "../matrix_product.hpp"
#include "../tensor.hpp"

/// Eigen's dense objects as tensors: `Eigen::Matrix` and `Eigen::Array` of any size and storage order, and `Eigen::Map`
/// of them without strides. Elements are visited in the order in which they lie in memory, so all ranks must use the
/// same storage order, and a weight the same as its gradient.
///
/// Blocks, `Eigen::Ref`, maps with strides and unevaluated expressions are refused: they need not be contiguous.
/// Evaluate them into a matrix first.
namespace syncopate {

namespace detail {

template <class X>
struct eigen_elements {
  static constexpr auto elements(X& tensor) {
    return std::span(tensor.data(), static_cast<std::size_t>(tensor.size()));
  }
  static constexpr auto elements(const X& tensor) {
    return std::span(tensor.data(), static_cast<std::size_t>(tensor.size()));
  }
};

}  // namespace detail

template <Element T, int Rows, int Columns, int Options, int MaxRows, int MaxColumns>
struct tensor_traits<Eigen::Matrix<T, Rows, Columns, Options, MaxRows, MaxColumns>>
    : detail::eigen_elements<Eigen::Matrix<T, Rows, Columns, Options, MaxRows, MaxColumns>> {};

template <Element T, int Rows, int Columns, int Options, int MaxRows, int MaxColumns>
struct tensor_traits<Eigen::Array<T, Rows, Columns, Options, MaxRows, MaxColumns>>
    : detail::eigen_elements<Eigen::Array<T, Rows, Columns, Options, MaxRows, MaxColumns>> {};

template <class Plain, int Options>
requires Element<typename Plain::Scalar>
struct tensor_traits<Eigen::Map<Plain, Options, Eigen::Stride<0, 0>>>
    : detail::eigen_elements<Eigen::Map<Plain, Options, Eigen::Stride<0, 0>>> {
};

/// Products of factors by Eigen.
struct eigen_product {
  template <class T>
  void operator()(const product_of_factors<T>& p) const {
    using matrix = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
    const auto index = [](std::size_t size) { return static_cast<Eigen::Index>(size); };
    const Eigen::Map<const matrix> activations(p.activations, index(p.rows), index(p.inputs)),
        errors(p.errors, index(p.rows), index(p.outputs));
    Eigen::Map<matrix> out(p.out, index(p.inputs), index(p.outputs));
    if (p.accumulates)
      out.noalias() += activations.transpose() * errors;
    else
      out.noalias() = activations.transpose() * errors;
  }
};

}  // namespace syncopate
