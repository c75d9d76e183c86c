#pragma once

#include <concepts>
#include <cstddef>
#include <type_traits>

namespace syncopate {

/// One product of factors: `out` (inputs x outputs) becomes `activations`ᵀ · `errors`, added to what it holds if
/// `accumulates`. `activations` is rows x inputs, `errors` rows x outputs; all lie in memory row by row.
template <class T>
struct product_of_factors {
  const T* activations;
  const T* errors;
  T* out;
  std::size_t rows, inputs, outputs;
  bool accumulates;
};

/// Whatever multiplies matrices for `scheme_options::factored_layers`: a type without state, whose objects can be
/// called with `product_of_factors` of both element types, such as `xtensor_blas_product` or `eigen_product` of the
/// adaptors, or one's own. All ranks must be given one that computes the same bits from the same factors.
class matrix_product {
 public:
  constexpr matrix_product() = default;

  template <class F>
  requires(!std::same_as<F, matrix_product> && std::is_empty_v<F> && std::default_initializable<F> &&
           std::invocable<const F&, const product_of_factors<float>&> &&
           std::invocable<const F&, const product_of_factors<
                                        double>&>) constexpr matrix_product(F)  // NOLINT(google-explicit-constructor):
                                                                                // on purpose
      : of_floats_([](const product_of_factors<float>& product) { F{}(product); }),
        of_doubles_([](const product_of_factors<double>& product) { F{}(product); }) {}

  explicit constexpr operator bool() const { return of_floats_ != nullptr; }

  void operator()(const product_of_factors<float>& product) const { of_floats_(product); }
  void operator()(const product_of_factors<double>& product) const { of_doubles_(product); }

 private:
  void (*of_floats_)(const product_of_factors<float>&) = nullptr;
  void (*of_doubles_)(const product_of_factors<double>&) = nullptr;
};

}  // namespace syncopate
