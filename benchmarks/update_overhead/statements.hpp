#pragma once

#include <Eigen/Core>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <syncopate/benchmark.hpp>
#if __has_include(<xtensor/containers/xadapt.hpp>)
#include <xtensor/containers/xadapt.hpp>
#include <xtensor/core/xmath.hpp>
#include <xtensor/core/xnoalias.hpp>
#else
#include <xtensor/xadapt.hpp>
#include <xtensor/xmath.hpp>
#include <xtensor/xnoalias.hpp>
#endif

/// The ways of two libraries to write what happens to a whole vector, without temporaries.
namespace statements {

struct xtensor {
  static constexpr const char* name = "xtensor";

  template <class T>
  static auto view(T* elements, std::size_t size) {
    return xt::adapt(elements, size, xt::no_ownership(), std::array{size});
  }
  static void set(auto& target, const auto& expression) { xt::noalias(target) = expression; }
  static auto root(const auto& expression) { return xt::sqrt(expression); }
  static double squares(const auto& expression) { return static_cast<double>(xt::sum(xt::square(expression))()); }
};

struct eigen {
  static constexpr const char* name = "eigen";

  template <class T>
  static auto view(T* elements, std::size_t size) {
    return Eigen::Map<Eigen::Array<T, Eigen::Dynamic, 1>>(elements, static_cast<Eigen::Index>(size));
  }
  static void set(auto& target, const auto& expression) { target = expression; }
  static auto root(const auto& expression) { return expression.sqrt(); }
  static double squares(const auto& expression) { return static_cast<double>(expression.square().sum()); }
};

/// The vectors of an update by hand as library `S` sees them.
template <class S, class T>
struct views {
  using view = decltype(S::view(static_cast<T*>(nullptr), 0));

  explicit views(syncopate::update_by_hand<T>& x)
      : step(x.step),
        weights(see(x.weights, x)),
        gradient(see(x.gradient, x)),
        message(see(x.message, x)),
        landed(see(x.landed, x)),
        kept(see(x.kept, x)),
        kept_with_landed(see(x.kept_with_landed, x)),
        state{see(x.state[0], x), see(x.state[1], x), see(x.state[2], x),
              see(x.state[3], x), see(x.state[4], x), see(x.state[5], x)},
        scratch(see(x.state[6], x)) {}

  std::int64_t step;
  view weights, gradient, message, landed, kept, kept_with_landed;
  std::array<view, 6> state;
  view scratch;

 private:
  static view see(const T* elements, const syncopate::update_by_hand<T>& x) {
    return S::view(const_cast<T*>(elements), x.size);  // one type for what is read and what is written
  }
};

}  // namespace statements
