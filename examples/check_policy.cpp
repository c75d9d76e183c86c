// Does a policy of one's own keep the laws of this library? One call trains with it in many ways whose results must be
// equal, and says in words which law it breaks.
#include <cstddef>
#include <iostream>
#include <syncopate/conformance.hpp>

/// A predictor that continues the line through the last two means: ĝ = m + horizon (m − previous).
struct extrapolation {
  double horizon = 0.5;

  static constexpr std::size_t state_vectors = 1;

  template <class T>
  constexpr T predict(const syncopate::landed<T>& m, T& previous) const {
    const T predicted = m.mean + T(horizon) * (m.mean - previous);
    previous = m.mean;
    return predicted;
  }

  void validate() const {
    if (!(horizon >= 0 && horizon <= 10))
      throw syncopate::configuration_error("extrapolation.horizon must be from 0 to 10");
  }
};

/// Reads the rank's own contribution, which the engine keeps only where that is declared.
struct undeclared_blend {
  template <class T>
  constexpr T predict(const syncopate::landed<T>& m) const {
    return m.mean + T(0.5) * (m.own - m.mean);
  }
};

int main() {
  const auto report = syncopate::check_conformance(extrapolation{}, {}, &extrapolation::horizon);
  std::cout << "extrapolation\n" << report.text();

  const auto broken = syncopate::check_conformance(undeclared_blend{});
  std::cout << "undeclared_blend\n" << broken.text();
  return report && !broken ? 0 : 1;
}
