#include "registration.hpp"
#include "suite.hpp"

void suite::weight_averaging() {
  registration::each<parts::replace, parts::blend, parts::two_parameter_merge>(
      []<class Merge, class Rule, class T>() { registration::weight_averaging<Merge, Rule, T>(); });
}
