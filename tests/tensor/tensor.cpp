#include <array>
#include <catch2/catch.hpp>
#include <deque>
#include <list>
#include <map>
#include <span>
#include <string>
#include <syncopate/tensor.hpp>
#include <tuple>
#include <utility>
#include <valarray>
#include <vector>

using namespace syncopate;

namespace {

/// A tensor type of a user's, which is no range.
struct matrix {
  std::vector<float> storage;
  std::size_t columns = 1;
};

/// A tensor whose elements are interleaved with something else, and for which there are no traits.
struct strided {
  float* data();
  std::size_t size() const;
};

struct layer {
  matrix weights;
  std::vector<double> bias;
};

/// A range by functions that are found beside it, and not when it is constant; and one that is a range of itself.
struct pair_of_tensors {
  std::vector<float> tensors[2];
};
std::vector<float>* begin(pair_of_tensors& pair) { return pair.tensors; }
std::vector<float>* end(pair_of_tensors& pair) { return pair.tensors + 2; }

struct path {
  const path* begin() const { return this; }
  const path* end() const { return this; }
};

}  // namespace

template <>
struct syncopate::tensor_traits<matrix> {
  static std::span<float> elements(matrix& m) { return m.storage; }
  static std::span<const float> elements(const matrix& m) { return m.storage; }
};

static_assert(Element<float> && Element<double>);
static_assert(!Element<int> && !Element<long double> && !Element<const float>);

// Tensors: contiguous ranges of float or double, and what has traits; as values, references and constants.
static_assert(Tensor<std::vector<float>> && Tensor<std::vector<double>&> && Tensor<const std::vector<float>&>);
static_assert(Tensor<std::array<float, 3>> && Tensor<double[4]> && Tensor<float (&)[2][1][1]> == false);
static_assert(Tensor<std::span<float>> && Tensor<std::span<const double>> && Tensor<const std::span<float>>);
static_assert(Tensor<matrix> && Tensor<const matrix&>);

// What is not contiguous, or not made of float or double, is no tensor; nor is what only has data() and size().
static_assert(!Tensor<std::deque<float>> && !Tensor<std::list<double>>);
static_assert(!Tensor<std::vector<int>> && !Tensor<std::string> && !Tensor<std::vector<long double>>);
static_assert(!Tensor<float> && !Tensor<float*> && !Tensor<strided>);

// Models: tensors, ranges of models, tuples of models.
static_assert(Model<std::vector<float>> && Model<std::vector<std::vector<float>>&> && Model<std::list<matrix>>);
static_assert(Model<std::tuple<std::vector<float>&, std::vector<double>&>>);
static_assert(Model<std::pair<matrix, std::vector<double>>>);
static_assert(Model<std::vector<std::tuple<matrix, std::array<double, 2>>>>);
static_assert(Model<std::array<std::vector<float>, 2>> && Model<float[2][3]>);
static_assert(!Model<std::tuple<std::vector<float>, int>> && !Model<std::vector<layer>> && !Model<std::deque<float>>);
static_assert(!Model<int> && !Model<strided> && !Model<std::map<int, std::vector<float>>>);
static_assert(!Model<std::string> && !Model<std::vector<std::string>>);
static_assert(Model<pair_of_tensors> && !Model<const pair_of_tensors> && !Model<path> && Tensor<std::valarray<float>>);

static_assert(std::same_as<elements_of<std::vector<std::array<float, 2>>>, float>);
static_assert(std::same_as<elements_of<const std::vector<double>&>, double>);
static_assert(std::same_as<elements_of<std::tuple<matrix&, std::vector<double>&>>, std::tuple<float, double>>);
static_assert(std::same_as<elements_of<std::tuple<std::vector<double>, matrix>>, std::tuple<float, double>>);
static_assert(std::same_as<elements_of<std::vector<std::pair<matrix, std::vector<float>>>>, float>);

// Constness reaches the elements, except through a span, which is a reference.
static_assert(std::same_as<decltype(elements(std::declval<std::vector<float>&>())), std::span<float>>);
static_assert(std::same_as<decltype(elements(std::declval<const std::vector<float>&>())), std::span<const float>>);
static_assert(std::same_as<decltype(elements(std::declval<const matrix&>())), std::span<const float>>);
static_assert(std::same_as<decltype(elements(std::declval<const std::span<float>&>())), std::span<float>>);
static_assert(std::same_as<decltype(elements(std::declval<std::span<const float>&>())), std::span<const float>>);

// Visiting works at compile time.
static_assert([] {
  std::tuple model{std::array{1.0F, 2.0F}, std::array<std::array<double, 1>, 2>{{{3.0}, {4.0}}}};
  double sum = 0;
  for_each_tensor(model, [&](auto tensor) {
    for (const auto element : tensor) sum += element;
  });
  return sum == 10;
}());

namespace {

/// Size, first element and element type of each tensor, in the order of visits.
using visits = std::vector<std::tuple<std::size_t, double, char>>;

template <class X>
visits visited(X&& model) {
  visits result;
  for_each_tensor(model, [&](auto tensor) {
    using element = typename decltype(tensor)::value_type;
    result.emplace_back(tensor.size(), tensor.empty() ? 0 : double{tensor[0]},
                        std::same_as<element, float> ? 'f' : 'd');
  });
  return result;
}

}  // namespace

TEST_CASE("elements name the tensor's own memory", "[tensor]") {
  std::vector<float> vector{1, 2, 3};
  std::array<double, 2> array{1, 2};
  float plain[4] = {1, 2, 3, 4};
  matrix custom{{5, 6}, 2};
  CHECK(elements(vector).data() == vector.data());
  CHECK(elements(vector).size() == 3);
  CHECK(elements(array).data() == array.data());
  CHECK(elements(array).size() == 2);
  CHECK(elements(plain).data() == plain);
  CHECK(elements(plain).size() == 4);
  CHECK(elements(custom).data() == custom.storage.data());
  CHECK(elements(custom).size() == 2);
  CHECK(elements(std::as_const(vector)).data() == vector.data());

  for_each_tensor(custom, [](auto tensor) { tensor[1] = 7; });
  CHECK(custom.storage[1] == 7);
}

TEST_CASE("tensors are visited in order", "[tensor]") {
  std::vector<float> single{4, 5};
  CHECK(visited(single) == visits{{2, 4, 'f'}});

  std::vector<std::vector<double>> layers{{1, 2, 3}, {4}, {}};
  CHECK(visited(layers) == visits{{3, 1, 'd'}, {1, 4, 'd'}, {0, 0, 'd'}});
  CHECK(visited(std::as_const(layers)) == visited(layers));

  float rows[2][3] = {{1, 2, 3}, {4, 5, 6}};
  CHECK(visited(rows) == visits{{3, 1, 'f'}, {3, 4, 'f'}});
}

TEST_CASE("a tuple of references is a model of mixed types", "[tensor]") {
  matrix weights{{1, 2, 3, 4}, 2};
  std::vector<double> bias{8, 9};
  std::array<float, 1> scale{5};
  CHECK(visited(std::tie(weights, bias, scale)) == visits{{4, 1, 'f'}, {2, 8, 'd'}, {1, 5, 'f'}});

  for_each_tensor(std::tie(weights, bias), [](auto tensor) { tensor[0] = 0; });
  CHECK(weights.storage[0] == 0);
  CHECK(bias[0] == 0);
}

TEST_CASE("models nest", "[tensor]") {
  std::vector<std::tuple<matrix, std::vector<double>>> layers{{matrix{{1, 2}, 1}, {3}}, {matrix{{4}, 1}, {5, 6}}};
  const visits expected{{2, 1, 'f'}, {1, 3, 'd'}, {1, 4, 'f'}, {2, 5, 'd'}};
  CHECK(visited(layers) == expected);

  std::pair<std::list<std::vector<float>>, std::span<double>> pair{{{7}, {8, 9}}, std::get<1>(layers[1])};
  CHECK(visited(pair) == visits{{1, 7, 'f'}, {2, 8, 'f'}, {2, 5, 'd'}});
}

TEST_CASE("what a for loop visits is a range of models", "[tensor]") {
  pair_of_tensors pair{{{1, 2}, {3}}};
  std::vector<std::size_t> sizes;
  for_each_tensor(pair, [&](std::span<float> elements) { sizes.push_back(elements.size()); });
  CHECK(sizes == std::vector<std::size_t>{2, 1});
}

TEST_CASE("an empty model has no tensors", "[tensor]") {
  CHECK(visited(std::vector<std::vector<float>>{}) == visits{});
  CHECK(visited(std::tuple<>{}) == visits{});
}
