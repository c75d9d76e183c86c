// A merge that changes its copy of the weight and returns nothing.
// expect: syncopate: the averaging's merge must be a Merge
#include <syncopate/syncopate.hpp>
#include <vector>

struct take {
  template <class T>
#ifdef SYNCOPATE_CONTROL
  constexpr T merge(T, const syncopate::landed<T>& m) const {
    return m.mean;
  }
#else
  constexpr void merge(T weight, const syncopate::landed<T>& m) const {
    weight = m.mean;
  }
#endif
};

int main() {
  std::vector<float> weights(3);
  syncopate::update_scheme scheme{weights, syncopate::loopback{}, syncopate::periodic_delay{4, 1},
                                  syncopate::weight_averaging{take{}, syncopate::sgd{}}};
}
