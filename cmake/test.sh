#!/bin/sh
# Installs what is missing, builds tests, examples and benchmarks, and runs all tests. Arguments are passed on to cmake:
# sh cmake/test.sh -DCMAKE_CXX_COMPILER=clang++. SYNCOPATE_BUILD names another build directory than build/test.
#   sh cmake/test.sh --coverage    says instead which lines of include/ the tests run; a table, and a page to browse.
#                                  Without optimisation, in build/coverage; fails below 95 %
set -eu
source_dir=$(cd "$(dirname "$0")/.." && pwd)
# shellcheck source=cmake/setup.sh
. "$source_dir/cmake/setup.sh"
# shellcheck disable=SC2086  # a list of words, on purpose
need $test_packages

coverage=
if [ "${1-}" = --coverage ]; then
  shift
  need gcovr
  coverage=coverage
  set -- -DCMAKE_BUILD_TYPE=Coverage "-DCMAKE_CXX_FLAGS_COVERAGE=--coverage -fprofile-update=atomic" \
    -DSYNCOPATE_BENCHMARKS=OFF -DSYNCOPATE_EXAMPLES=OFF "$@"
fi
build_dir=${SYNCOPATE_BUILD:-$source_dir/build/${coverage:-test}}
use_ccache "$source_dir"
# shellcheck disable=SC2086  # one word, or none
cmake -S "$source_dir" -B "$build_dir" -G Ninja -DCMAKE_BUILD_TYPE=Release -DSYNCOPATE_TESTS=ON \
  -DSYNCOPATE_BENCHMARKS=ON -DSYNCOPATE_EXAMPLES=ON $launcher "$@"
cmake --build "$build_dir" --parallel "$(nproc)"
cd "$build_dir"
[ -n "$coverage" ] || exec ctest --parallel 2 --output-on-failure

find . -name '*.gcda' -delete
# Without the tests that call a compiler: what they look at is not what was built here.
ctest --parallel 2 --output-on-failure --exclude-regex '^(assembly|compile_fail|consumer)/'
mkdir -p page
gcovr --root "$source_dir" --filter "$source_dir/include/" --txt --html-details page/index.html --fail-under-line 95 .
echo "syncopate: line by line in $build_dir/page/index.html"
