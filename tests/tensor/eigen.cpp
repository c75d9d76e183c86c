#include <Eigen/Core>
#include <catch2/catch.hpp>
#include <syncopate/adaptors/eigen.hpp>
#include <tuple>
#include <utility>
#include <vector>

using namespace syncopate;

namespace {

template <class X>
constexpr bool is_tensor_of_any_constness = Tensor<X>&& Tensor<X&>&& Tensor<const X&>;

using row_major = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

// The types of expressions that have no name.
using sum = decltype(std::declval<Eigen::MatrixXf&>() + std::declval<Eigen::MatrixXf&>());
using transposed = decltype(std::declval<Eigen::MatrixXf&>().transpose());
using block = decltype(std::declval<Eigen::MatrixXf&>().block(0, 0, 1, 1));
using column = decltype(std::declval<Eigen::MatrixXf&>().col(0));
using row = decltype(std::declval<Eigen::MatrixXf&>().row(0));
using head = decltype(std::declval<Eigen::VectorXf&>().head(1));
using strided_map = Eigen::Map<Eigen::VectorXf, 0, Eigen::InnerStride<2>>;
using outer_map = Eigen::Map<Eigen::MatrixXf, 0, Eigen::OuterStride<>>;

}  // namespace

static_assert(is_tensor_of_any_constness<Eigen::MatrixXf> && is_tensor_of_any_constness<Eigen::MatrixXd>);
static_assert(is_tensor_of_any_constness<Eigen::VectorXf> && is_tensor_of_any_constness<Eigen::RowVectorXd>);
static_assert(is_tensor_of_any_constness<Eigen::Matrix3f> && is_tensor_of_any_constness<row_major>);
static_assert(is_tensor_of_any_constness<Eigen::ArrayXXd> && is_tensor_of_any_constness<Eigen::ArrayXf>);
static_assert(is_tensor_of_any_constness<Eigen::Map<Eigen::MatrixXf>>);
static_assert(is_tensor_of_any_constness<Eigen::Map<const Eigen::ArrayXd, Eigen::Aligned16>>);
static_assert(!Tensor<Eigen::MatrixXi> && !Tensor<Eigen::MatrixXcd> && !Tensor<Eigen::Map<Eigen::VectorXi>>);
static_assert(!Model<sum> && !Model<transposed> && !Model<block> && !Model<column> && !Model<row> && !Model<head>);
static_assert(!Model<strided_map> && !Model<outer_map>);
static_assert(!Model<Eigen::Ref<Eigen::MatrixXf>> && !Model<Eigen::Ref<Eigen::VectorXf>>);

static_assert(std::same_as<decltype(elements(std::declval<Eigen::MatrixXf&>())), std::span<float>>);
static_assert(std::same_as<decltype(elements(std::declval<const Eigen::MatrixXf&>())), std::span<const float>>);
static_assert(
    std::same_as<decltype(elements(std::declval<Eigen::Map<const Eigen::VectorXd>&>())), std::span<const double>>);

TEST_CASE("elements of Eigen's dense objects, in memory order", "[tensor][eigen]") {
  Eigen::MatrixXf columns(2, 3);
  row_major rows(2, 3);
  columns << 1, 2, 3, 4, 5, 6;
  rows << 1, 2, 3, 4, 5, 6;
  const auto list = [](auto span) { return std::vector<float>(span.begin(), span.end()); };
  CHECK(list(elements(columns)) == std::vector<float>{1, 4, 2, 5, 3, 6});
  CHECK(list(elements(std::as_const(columns))) == std::vector<float>{1, 4, 2, 5, 3, 6});
  CHECK(list(elements(rows)) == std::vector<float>{1, 2, 3, 4, 5, 6});

  elements(columns)[1] = 7;
  CHECK(columns(1, 0) == 7);

  Eigen::Array<double, 2, 2> fixed = Eigen::Array<double, 2, 2>::Ones();
  CHECK(elements(fixed).data() == fixed.data());
  CHECK(elements(fixed).size() == 4);
  Eigen::MatrixXd empty;
  CHECK(elements(empty).empty());
}

TEST_CASE("elements of Eigen maps are the memory that they map", "[tensor][eigen]") {
  std::vector<double> buffer(6, 1);
  Eigen::Map<Eigen::MatrixXd> map(buffer.data(), 2, 3);
  CHECK(elements(map).data() == buffer.data());
  CHECK(elements(map).size() == 6);
  const Eigen::Map<const Eigen::VectorXd> read_only(buffer.data(), 5);
  CHECK(elements(read_only).data() == buffer.data());
  CHECK(elements(read_only).size() == 5);
}

TEST_CASE("models of Eigen's dense objects", "[tensor][eigen]") {
  Eigen::MatrixXf weights = Eigen::MatrixXf::Zero(3, 2);
  Eigen::VectorXd bias = Eigen::VectorXd::Zero(3);
  std::vector<std::pair<Eigen::MatrixXf, Eigen::VectorXf>> layers{{weights, Eigen::VectorXf::Zero(4)}};
  STATIC_REQUIRE(std::same_as<elements_of<decltype(std::tie(weights, bias))>, std::tuple<float, double>>);
  STATIC_REQUIRE(std::same_as<elements_of<decltype(layers)>, float>);

  std::vector<std::size_t> sizes;
  const auto note = [&](auto tensor) { sizes.push_back(tensor.size()); };
  for_each_tensor(std::tie(weights, bias), note);
  for_each_tensor(layers, note);
  CHECK(sizes == std::vector<std::size_t>{6, 3, 6, 4});
}
