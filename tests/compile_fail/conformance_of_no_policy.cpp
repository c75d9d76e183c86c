// Something that is no policy where one is to be checked.
// expect: syncopate: check_conformance needs a GradientPredictor, an UpdateRule, a Merge, an Averaging or a DelayPolicy
#include <syncopate/conformance.hpp>
#include <syncopate/syncopate.hpp>

struct no_policy {};

int main() {
#ifdef SYNCOPATE_CONTROL
  (void)syncopate::check_conformance(syncopate::fixed_delay{1});
#else
  (void)syncopate::check_conformance(no_policy{});
#endif
}
