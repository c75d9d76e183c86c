# Sourced by demo.sh, benchmark.sh and test.sh: installs what is missing on Debian or Ubuntu. POSIX sh.
# shellcheck shell=sh disable=SC2034

# To build and run the example.
demo_packages="g++ cmake ninja-build libboost-dev libboost-iostreams-dev libxtensor-dev libxtensor-blas-dev \
libopenblas-dev libcli11-dev nlohmann-json3-dev dataset-fashion-mnist ccache"
# To build and run the benchmarks.
benchmark_packages="g++ cmake ninja-build libboost-mpi-dev libboost-serialization-dev libopenmpi-dev openmpi-bin \
libxtensor-dev libeigen3-dev libbenchmark-dev libcli11-dev nlohmann-json3-dev gnuplot-nox valgrind ccache"
# To build and run everything.
test_packages="$demo_packages $benchmark_packages libmpich-dev mpich catch2"

# Compilers' results are kept, also for another clone of the repository in another folder: paths are taken relative to
# the clone, and precompiled headers are known by their text. Used by cmake's launcher, where ccache is installed.
# Sets `launcher`.
use_ccache() {
  launcher=
  command -v ccache >/dev/null || return 0
  export CCACHE_BASEDIR="$1" CCACHE_NOHASHDIR=1
  export CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime
  launcher=-DCMAKE_CXX_COMPILER_LAUNCHER=ccache
}

# need PACKAGE...: returns when all are installed, or stops the script with the list of those that are not.
need() {
  missing=""
  for package; do
    case " $missing " in *" $package "*) continue ;; esac
    case $(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null || true) in
      installed*) ;;
      *) missing="$missing $package" ;;
    esac
  done
  [ -n "$missing" ] || return 0

  if ! command -v apt-get >/dev/null; then
    echo "syncopate: no apt-get here; install what these Debian packages hold, then build with cmake:$missing" >&2
    exit 1
  elif [ "$(id -u)" -eq 0 ]; then
    as_root="env"
  elif command -v sudo >/dev/null; then
    as_root="sudo env"
  else
    echo "syncopate: neither root nor sudo; have these packages installed, then start again:$missing" >&2
    exit 1
  fi
  echo "syncopate: installing$missing"
  # shellcheck disable=SC2086  # lists of words, on purpose
  if ! { $as_root apt-get update -qq && $as_root DEBIAN_FRONTEND=noninteractive apt-get install -y -qq \
    --no-install-recommends -o DPkg::Lock::Timeout=120 $missing </dev/null; }; then
    echo "syncopate: apt-get could not install all of these (on Ubuntu, enable the component universe):$missing" >&2
    exit 1
  fi
}
