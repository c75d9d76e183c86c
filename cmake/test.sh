#!/bin/sh
# Installs what is missing, builds tests, examples and benchmarks, and runs all tests. Arguments are passed on to cmake:
# sh cmake/test.sh -DCMAKE_CXX_COMPILER=clang++. SYNCOPATE_BUILD names another build directory than build/test.
set -eu
source_dir=$(cd "$(dirname "$0")/.." && pwd)
# shellcheck source=cmake/setup.sh
. "$source_dir/cmake/setup.sh"
# shellcheck disable=SC2086  # a list of words, on purpose
need $test_packages

build_dir=${SYNCOPATE_BUILD:-$source_dir/build/test}
cmake -S "$source_dir" -B "$build_dir" -G Ninja -DCMAKE_BUILD_TYPE=Release -DSYNCOPATE_TESTS=ON \
  -DSYNCOPATE_BENCHMARKS=ON -DSYNCOPATE_EXAMPLES=ON "$@"
cmake --build "$build_dir" --parallel "$(nproc)"
cd "$build_dir"
exec ctest --parallel 2 --output-on-failure
