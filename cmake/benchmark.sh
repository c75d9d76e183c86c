#!/bin/sh
# Installs what is missing, builds the benchmarks and runs them all; leaves their results as JSON, and a page with plots.
#   sh cmake/benchmark.sh                     everything: hours
#   sh cmake/benchmark.sh --quick             small sizes, short times, and not at -O2: minutes
#   sh cmake/benchmark.sh --quick --benchmark_filter=adamw    further options go to Google Benchmark
#   sh cmake/benchmark.sh compare OLD NEW     compares two directories of results
# SYNCOPATE_BUILD names another build directory than build/benchmark.
set -eu
source_dir=$(cd "$(dirname "$0")/.." && pwd)
# shellcheck source=cmake/setup.sh
. "$source_dir/cmake/setup.sh"
# shellcheck disable=SC2086  # a list of words, on purpose
need $benchmark_packages

command="cmake/benchmark.sh $*"
build_dir=${SYNCOPATE_BUILD:-$source_dir/build/benchmark}
build() {
  cmake -S "$source_dir" -B "$build_dir" -G Ninja -DCMAKE_BUILD_TYPE=Release -DSYNCOPATE_TESTS=OFF \
    -DSYNCOPATE_EXAMPLES=OFF >"$build_dir.log"
  cmake --build "$build_dir" --target "$@"
}
mkdir -p "$(dirname "$build_dir")"

if [ "${1-}" = compare ]; then
  if [ $# -ne 3 ] || [ ! -d "$2" ] || [ ! -d "$3" ]; then
    echo "syncopate: compare takes two directories of results" >&2
    exit 2
  fi
  build benchmark_report
  code=0
  for old in "$2"/*.json; do
    name=$(basename "$old")
    echo
    echo "$name"
    "$build_dir/benchmarks/benchmark_report" compare "$old" "$3/$name" || code=$?
  done
  exit $code
fi

programs="compile_time engine_overhead instructions_o3 update_overhead"
if [ "${1-}" = --quick ]; then
  shift
  # Numbers of six or more digits are left out.
  set -- "--benchmark_filter=-/[0-9]{6,}(/|\$)" --benchmark_min_time=0.01 "$@"
else
  programs="$programs instructions_o2 update_overhead_o2"
  set -- --benchmark_min_time=0.1 --benchmark_repetitions=3 --benchmark_display_aggregates_only=true "$@"
fi
# shellcheck disable=SC2086  # a list of words, on purpose
build benchmark_report communicators $programs

# What Google Benchmark does not know of the machine; it separates these by commas and equals signs.
plain() { tr ',=' '; '; }
compiler=$(sed -n 's/^CMAKE_CXX_COMPILER:[A-Z]*=//p' "$build_dir/CMakeCache.txt")
context="compiler=$("$compiler" --version | head -n 1 | plain)"
context="$context,processor=$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1 | plain)"
context="$context,command=$(echo "$command" | plain)"

results=$build_dir/results
mkdir -p "$results"
rm -f "$results"/*.json
run() { # name command...
  name=$1
  shift
  echo
  echo "$name"
  "$@" --benchmark_out="$results/$name.json" --benchmark_context="$context"
  [ -s "$results/$name.json" ] || rm "$results/$name.json"  # the filter matches nothing there
}
# Memory is asked of the system once, not by each benchmark anew.
export GLIBC_TUNABLES=glibc.malloc.mmap_threshold=4294967296:glibc.malloc.trim_threshold=17179869184
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1
for program in $programs; do
  # Repetitions at different times see different moods of the machine.
  run "$program" "$build_dir/benchmarks/$program" --benchmark_enable_random_interleaving=true "$@"
done
run communicators mpirun.openmpi --oversubscribe --mca mpi_yield_when_idle 1 -n 2 \
  "$build_dir/benchmarks/communicators" "$@"

echo
"$build_dir/benchmarks/benchmark_report" page "$results/page" "$results"/*.json
