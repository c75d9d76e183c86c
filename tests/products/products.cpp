// Products of factors, by the libraries that are adapted.
#include <catch2/catch.hpp>
#include <cstddef>
#include <syncopate/adaptors/eigen.hpp>
#include <syncopate/adaptors/xtensor_blas.hpp>
#include <syncopate/matrix_product.hpp>
#include <type_traits>
#include <vector>

using syncopate::matrix_product;
using syncopate::product_of_factors;

TEMPLATE_TEST_CASE("Products of factors are what the definition says, added or not", "[products]", float,
                   double) {
  const matrix_product product =
      GENERATE(matrix_product(syncopate::xtensor_blas_product{}), matrix_product(syncopate::eigen_product{}));
  REQUIRE(product);
  CHECK_FALSE(matrix_product());
  constexpr std::size_t rows = 5, inputs = 7, outputs = 3;
  std::vector<TestType> activations(rows * inputs), errors(rows * outputs), expected(inputs * outputs);
  for (std::size_t i = 0; i < activations.size(); ++i) activations[i] = static_cast<TestType>(i % 11) - 4;
  for (std::size_t i = 0; i < errors.size(); ++i) errors[i] = static_cast<TestType>(i % 5) - 2;
  for (std::size_t i = 0; i < inputs; ++i)
    for (std::size_t j = 0; j < outputs; ++j)
      for (std::size_t row = 0; row < rows; ++row)
        expected[i * outputs + j] += activations[row * inputs + i] * errors[row * outputs + j];
  std::vector<TestType> out(inputs * outputs, TestType(100));  // of which nothing remains
  product(product_of_factors<TestType>{activations.data(), errors.data(), out.data(), rows, inputs, outputs, false});
  CHECK(out == expected);
  product(product_of_factors<TestType>{activations.data(), errors.data(), out.data(), rows, inputs, outputs, true});
  for (TestType& x : expected) x *= 2;
  CHECK(out == expected);
}
