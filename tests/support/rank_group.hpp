#pragma once

#include <functional>
#include <string>
#include <vector>

#include "any_communicator.hpp"

namespace support {

/// What a rank noted: numbers, as many on each rank. Floats become doubles without loss.
using record = std::vector<double>;

/// Ranks of one communicator, on which a law is tested.
struct rank_group {
  std::string name;
  int size;
  /// Calls the function on every rank and returns what each noted; the same on all processes. Assertions belong
  /// outside the function: Catch2 cannot take them from several threads at once.
  std::function<std::vector<record>(const std::function<record(any_communicator)>&)> run;
};

/// The communicators of this test program: loopback and threads (laws/threads.cpp), or MPI (mpi/laws.cpp).
const std::vector<rank_group>& every_communicator();

}  // namespace support
