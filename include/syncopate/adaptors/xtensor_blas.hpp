#pragma once

#include <array>
#include <xtensor-blas/xblas.hpp>
#include <xtensor/xadapt.hpp>

#include "../matrix_product.hpp"

namespace syncopate {

/// Products by xtensor-blas, that is, by the BLAS that the program is linked with (define HAVE_CBLAS=1).
struct xtensor_blas_product {
  template <class T>
  void operator()(const product_of_factors<T>& p) const {
    const auto matrix = [](auto* elements, std::size_t rows, std::size_t columns) {
      return xt::adapt(elements, rows * columns, xt::no_ownership(), std::array{rows, columns});
    };
    auto out = matrix(p.out, p.inputs, p.outputs);
    xt::blas::gemm(matrix(p.activations, p.rows, p.inputs), matrix(p.errors, p.rows, p.outputs), out, true, false, T(1),
                   p.accumulates ? T(1) : T(0));
  }
};

}  // namespace syncopate
