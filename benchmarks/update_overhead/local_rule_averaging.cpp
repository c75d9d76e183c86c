#include "registration.hpp"
#include "suite.hpp"

void suite::local_rule_averaging() {
  registration::each<parts::local, parts::blended>(
      []<class Predictor, class Rule, class T>() { registration::local_rule_averaging<Predictor, Rule, T>(); });
}
