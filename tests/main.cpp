// The main of every test program without MPI, compiled once. Works with Catch2 2 and 3.
#define CATCH_CONFIG_RUNNER
#include <catch2/catch.hpp>

int main(int argc, char** argv) { return Catch::Session().run(argc, argv); }
