// A check that fails on one rank must not leave the others waiting: see main.cpp. Run by a test that expects it to
// fail.
#include <mpi.h>

#include <catch2/catch.hpp>

TEST_CASE("A check fails on rank 1, and the others wait for it", "[.fails_on_one_rank]") {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  CHECK(rank != 1);
  MPI_Barrier(MPI_COMM_WORLD);
}
