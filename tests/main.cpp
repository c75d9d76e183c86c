// The main of every test program without MPI.
#include "support/run_tests.hpp"

int main(int argc, char** argv) { return support::run_tests(argc, argv); }
