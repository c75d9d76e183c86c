#!/bin/sh
# Installs what is missing, builds, and trains a network on Fashion-MNIST with every scheme, on threads that are joined
# by a modelled link. Arguments are passed on: sh cmake/demo.sh --epochs 1 --scheme lookahead
# SYNCOPATE_BUILD names another build directory than build/demo.
set -eu
source_dir=$(cd "$(dirname "$0")/.." && pwd)
# shellcheck source=cmake/setup.sh
. "$source_dir/cmake/setup.sh"
# shellcheck disable=SC2086  # a list of words, on purpose
need $demo_packages

build_dir=${SYNCOPATE_BUILD:-$source_dir/build/demo}
use_ccache "$source_dir"
# shellcheck disable=SC2086  # one word, or none
cmake -S "$source_dir" -B "$build_dir" -G Ninja -DCMAKE_BUILD_TYPE=Release -DSYNCOPATE_TESTS=OFF \
  -DSYNCOPATE_BENCHMARKS=OFF $launcher
cmake --build "$build_dir" --target fashion_mnist

# Ranks are threads already: BLAS threads on top would only make them fight for cores.
export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1
case " $*" in
  *" --scheme"*) ;;
  *) set -- --scheme all "$@" ;;
esac
exec "$build_dir/examples/fashion_mnist" "$@"
