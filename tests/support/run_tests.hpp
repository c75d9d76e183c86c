#pragma once

namespace support {

/// Runs the tests that the arguments choose. The result is for `main` to return.
int run_tests(int argc, char** argv);

}  // namespace support
