# What tests, benchmarks and examples share. Nothing here is seen by a project that uses the library.

find_package(xtensor QUIET)
find_package(Eigen3 QUIET NO_MODULE)

# Warnings; never exported.
add_library(syncopate_warnings INTERFACE)
target_compile_options(
  syncopate_warnings INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion
                               # Says where a loop was not vectorised; tests/assembly says where one has to be.
                               $<$<CXX_COMPILER_ID:Clang>:-Wno-pass-failed>
                               $<$<BOOL:${SYNCOPATE_WERROR}>:-Werror>)

# ccache knows precompiled headers by their text, if the compiler lets it.
if(CMAKE_CXX_COMPILER_LAUNCHER MATCHES "ccache")
  add_compile_options($<$<CXX_COMPILER_ID:GNU>:-fpch-preprocess>
                      "$<$<CXX_COMPILER_ID:Clang>:SHELL:-Xclang -fno-pch-timestamp>")
endif()

# The library with those tensor libraries, header-only all of them, that this machine has.
add_library(syncopate_adaptors INTERFACE)
target_link_libraries(syncopate_adaptors INTERFACE syncopate::syncopate $<TARGET_NAME_IF_EXISTS:xtensor>
                                                   $<TARGET_NAME_IF_EXISTS:Eigen3::Eigen>)

# Ranks are processes or threads already: each one's BLAS stays single-threaded, so that tests do not fight for cores.
set(syncopate_test_environment OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1)

# syncopate_add_test(NAME name COMMAND command... [PROCESSORS n] [TIMEOUT seconds])
function(syncopate_add_test)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "NAME;PROCESSORS;TIMEOUT" "COMMAND")
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 300)
  endif()
  if(CMAKE_BUILD_TYPE STREQUAL "Coverage")  # nothing is optimised there
    math(EXPR arg_TIMEOUT "3 * ${arg_TIMEOUT}")
  endif()
  if(NOT arg_PROCESSORS)
    set(arg_PROCESSORS 1)
  endif()
  add_test(NAME ${arg_NAME} COMMAND ${arg_COMMAND})
  set_tests_properties(${arg_NAME} PROPERTIES TIMEOUT ${arg_TIMEOUT} PROCESSORS ${arg_PROCESSORS}
                                              ENVIRONMENT "${syncopate_test_environment}")
endfunction()

if(TARGET syncopate::boost_mpi)
  execute_process(COMMAND ${MPIEXEC_EXECUTABLE} --version OUTPUT_VARIABLE mpiexec_version ERROR_QUIET)
  if(mpiexec_version MATCHES "Open MPI|OpenRTE")  # more ranks than cores, which must not spin
    set(syncopate_mpiexec_flags --oversubscribe --mca mpi_yield_when_idle 1)
  endif()
endif()

# syncopate_add_mpi_test(NAME name COMMAND command... RANKS n... [ENVIRONMENT name=value...] [LAUNCHER mpiexec... -n]
# [TIMEOUT seconds]): tests name_1, name_2, … on as many ranks, which must find that number in SYNCOPATE_TEST_RANKS: a
# test that runs on one rank by mistake shall not pass.
function(syncopate_add_mpi_test)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "NAME;TIMEOUT" "COMMAND;RANKS;ENVIRONMENT;LAUNCHER")
  if(NOT arg_LAUNCHER)
    set(arg_LAUNCHER ${MPIEXEC_EXECUTABLE} ${syncopate_mpiexec_flags} ${MPIEXEC_NUMPROC_FLAG})
  endif()
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 600)  # five ranks on one core of a busy machine
  endif()
  foreach(ranks IN LISTS arg_RANKS)
    syncopate_add_test(NAME ${arg_NAME}_${ranks} TIMEOUT ${arg_TIMEOUT} PROCESSORS ${ranks}
                       COMMAND ${arg_LAUNCHER} ${ranks} ${arg_COMMAND})
    set_property(TEST ${arg_NAME}_${ranks} APPEND
                 PROPERTY ENVIRONMENT SYNCOPATE_TEST_RANKS=${ranks} OMPI_ALLOW_RUN_AS_ROOT=1
                          OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 ${arg_ENVIRONMENT})
    set_property(TEST ${arg_NAME}_${ranks} PROPERTY LABELS mpi)
  endforeach()
endfunction()
