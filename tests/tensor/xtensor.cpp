#include <catch2/catch.hpp>
#include <numeric>
#include <syncopate/adaptors/xtensor.hpp>
#include <tuple>
#include <vector>
#if __has_include(<xtensor/containers/xtensor.hpp>)
#include <xtensor/containers/xadapt.hpp>
#include <xtensor/containers/xarray.hpp>
#include <xtensor/containers/xfixed.hpp>
#include <xtensor/containers/xtensor.hpp>
#include <xtensor/views/xstrided_view.hpp>
#include <xtensor/views/xview.hpp>
#else
#include <xtensor/xadapt.hpp>
#include <xtensor/xarray.hpp>
#include <xtensor/xfixed.hpp>
#include <xtensor/xstrided_view.hpp>
#include <xtensor/xtensor.hpp>
#include <xtensor/xview.hpp>
#endif

using namespace syncopate;
using xt::layout_type;

namespace {

template <class X>
constexpr bool is_tensor_of_any_constness = Tensor<X>&& Tensor<X&>&& Tensor<const X&>;

// The types of expressions that have no name.
using array = xt::xarray<float>;
using column_major = xt::xtensor<float, 2, layout_type::column_major>;
using expression = decltype(std::declval<array&>() + std::declval<array&>());
using columns = decltype(xt::view(std::declval<array&>(), xt::all(), xt::range(0, 1)));
using every_second = decltype(xt::strided_view(std::declval<array&>(), {xt::range(0, 4, 2)}));
using transposed = decltype(xt::transpose(std::declval<array&>()));
using with_strides = decltype(xt::adapt(std::declval<std::vector<float>&>(), std::vector<std::size_t>{2, 2},
                                        std::vector<std::ptrdiff_t>{4, 1}));

}  // namespace

static_assert(is_tensor_of_any_constness<xt::xarray<float>> && is_tensor_of_any_constness<xt::xarray<double>>);
static_assert(is_tensor_of_any_constness<xt::xarray<float, layout_type::column_major>>);
static_assert(is_tensor_of_any_constness<xt::xarray<float, layout_type::dynamic>>);
static_assert(is_tensor_of_any_constness<xt::xtensor<double, 3>> && is_tensor_of_any_constness<column_major>);
static_assert(is_tensor_of_any_constness<xt::xtensor_fixed<float, xt::xshape<2, 3>>>);
static_assert(is_tensor_of_any_constness<xt::xtensor_fixed<float, xt::xshape<2, 3>, layout_type::column_major>>);
static_assert(!Tensor<xt::xarray<int>> && !Tensor<xt::xtensor<bool, 1>>);
static_assert(!Model<expression> && !Model<every_second> && !Model<with_strides> && !Model<columns>);
static_assert(!Tensor<transposed>);

static_assert(std::same_as<decltype(elements(std::declval<column_major&>())), std::span<float>>);
static_assert(std::same_as<decltype(elements(std::declval<const column_major&>())), std::span<const float>>);

namespace {

template <class X>
void check_all_elements(X& tensor) {
  const auto span = elements(tensor);
  REQUIRE(span.size() == tensor.size());
  REQUIRE(span.data() == tensor.data());
  std::iota(span.begin(), span.end(), 1);
  double sum = 0;  // through xtensor's own iteration
  for (const auto element : tensor) sum += double{element};
  CHECK(sum == double(span.size() * (span.size() + 1)) / 2);
}

}  // namespace

TEST_CASE("elements of xtensor containers of all layouts", "[tensor][xtensor]") {
  xt::xarray<float> row_array = xt::zeros<float>({2, 3, 4});
  xt::xarray<double, layout_type::column_major> column_array = xt::zeros<double>({2, 3});
  xt::xarray<float, layout_type::dynamic> dynamic_array(std::vector<std::size_t>{3, 5}, layout_type::column_major);
  dynamic_array.fill(0);
  xt::xtensor<double, 2> row_tensor = xt::zeros<double>({4, 5});
  column_major column_tensor = xt::zeros<float>({4, 5});
  xt::xtensor_fixed<float, xt::xshape<2, 3>, layout_type::column_major> fixed = xt::zeros<float>({2, 3});
  check_all_elements(row_array);
  check_all_elements(column_array);
  check_all_elements(dynamic_array);
  check_all_elements(row_tensor);
  check_all_elements(column_tensor);
  check_all_elements(fixed);

  // In memory order: down the first column.
  CHECK(column_tensor(0, 0) == 1);
  CHECK(column_tensor(1, 0) == 2);
  CHECK(row_tensor(0, 1) == 2);
}

TEST_CASE("elements of adapted buffers", "[tensor][xtensor]") {
  std::vector<float> buffer(6);
  auto rows = xt::adapt(buffer, std::vector<std::size_t>{2, 3});
  auto columns = xt::adapt<layout_type::column_major>(buffer, std::array<std::size_t, 2>{2, 3});
  auto pointer = xt::adapt(buffer.data(), buffer.size(), xt::no_ownership(), std::array<std::size_t, 2>{3, 2});
  STATIC_REQUIRE(is_tensor_of_any_constness<decltype(rows)>);
  STATIC_REQUIRE(is_tensor_of_any_constness<decltype(columns)>);
  STATIC_REQUIRE(is_tensor_of_any_constness<decltype(pointer)>);
  check_all_elements(rows);
  check_all_elements(columns);
  check_all_elements(pointer);
  CHECK(elements(rows).data() == buffer.data());

  const std::vector<double> constant{1, 2, 3, 4};
  auto read_only = xt::adapt(constant, std::vector<std::size_t>{2, 2});
  STATIC_REQUIRE(std::same_as<decltype(elements(read_only)), std::span<const double>>);
  CHECK(elements(read_only).data() == constant.data());
}

TEST_CASE("models of xtensor containers", "[tensor][xtensor]") {
  std::vector<xt::xarray<float>> layers{xt::ones<float>({2, 2}), xt::ones<float>({3})};
  column_major weights = xt::ones<float>({2, 2});
  xt::xarray<double> bias = xt::ones<double>({5});
  STATIC_REQUIRE(std::same_as<elements_of<decltype(layers)>, float>);
  STATIC_REQUIRE(std::same_as<elements_of<decltype(std::tie(weights, bias))>, std::tuple<float, double>>);

  std::vector<std::size_t> sizes;
  const auto note = [&](auto tensor) { sizes.push_back(tensor.size()); };
  for_each_tensor(layers, note);
  for_each_tensor(std::tie(weights, bias), note);
  CHECK(sizes == std::vector<std::size_t>{4, 3, 4, 5});
}
