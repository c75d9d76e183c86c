#include <bit>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <syncopate/detail/elements/math.hpp>

using namespace syncopate;

TEMPLATE_TEST_CASE("the vectorisable square root is std::sqrt, bitwise", "[math]", float, double) {
  using limits = std::numeric_limits<TestType>;
  for (const TestType x :
       {TestType(0), TestType(1), TestType(2), limits::min(), limits::denorm_min(), limits::max(), limits::infinity()})
    CHECK(detail::square_root(x) == std::sqrt(x));
  CHECK(std::isnan(detail::square_root(TestType(-1))));
  CHECK(std::isnan(detail::square_root(limits::quiet_NaN())));

  // Positive numbers of all sizes: random bits without the sign.
  using bits = std::conditional_t<sizeof(TestType) == 4, std::uint32_t, std::uint64_t>;
  std::mt19937_64 engine(1);
  int wrong = 0;
  for (int i = 0; i < 100'000; ++i) {
    const TestType x = std::bit_cast<TestType>(static_cast<bits>(static_cast<bits>(engine()) >> 1));
    if (!std::isnan(x) && detail::square_root(x) != std::sqrt(x)) ++wrong;
  }
  CHECK(wrong == 0);
}
