/// What an update costs: every averaging × predictor or merge × rule × element type, next to the loop one would write
/// by hand, the same in statements of xtensor and of Eigen, and a copy of as many bytes.
#include <syncopate/benchmark.hpp>

#include "suite.hpp"

int main(int argc, char** argv) {
  suite::gradient_averaging();
  suite::lookahead_averaging();
  suite::local_rule_averaging();
  suite::weight_averaging();
  suite::custom_policies();
  suite::checked();
  return syncopate::run_benchmarks(argc, argv);
}
