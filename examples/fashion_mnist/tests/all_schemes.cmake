# cmake -DPROGRAM=fashion_mnist -DOPTIONS=list -DDIRECTORY=for-files [-DMPIRUN=list] -P all_schemes.cmake
#
# Every scheme on two threads, and with MPIRUN (a command that starts two processes) on two processes. Of two summands
# the order does not matter, so both have to give the same numbers to the last bit.
include(${CMAKE_CURRENT_LIST_DIR}/run.cmake)

set(schemes synchronous layerwise sharded factors lazy pseudo-synchronous lookahead od-sgd dasgd local-sgd)
run(${DIRECTORY}/threads.json ${PROGRAM} --scheme all --ranks 2 ${OPTIONS} --link-gbit 100)
set(threads "${json}")
if(MPIRUN)
  run(${DIRECTORY}/mpi.json ${MPIRUN} ${PROGRAM} --scheme all --ranks 2 ${OPTIONS})
  set(mpi "${json}")
endif()

string(JSON count LENGTH "${threads}")
list(LENGTH schemes expected)
if(NOT count EQUAL expected)
  message(FATAL_ERROR "${count} results instead of ${expected}")
endif()
set(i 0)
foreach(scheme IN LISTS schemes)
  if(NOT table MATCHES "\n${scheme} +[0-9.]+ %")
    message(FATAL_ERROR "the table has no row of ${scheme}")
  endif()
  string(JSON by_threads GET "${threads}" ${i})
  check_result("${by_threads}" ${scheme} 2 2 0.6)
  if(MPIRUN)
    string(JSON by_mpi GET "${mpi}" ${i})
    check_result("${by_mpi}" ${scheme} 2 2 0.6)
    check_same(${scheme} "on threads" "${by_threads}" "on MPI" "${by_mpi}"
               test_accuracy train_loss bytes_per_step weights_checksum)
  endif()
  math(EXPR i "${i} + 1")
endforeach()

string(JSON whole GET "${threads}" 0 weights_checksum)
foreach(i IN ITEMS 1 2)  # of two summands the order does not matter
  string(JSON by_layer GET "${threads}" ${i} weights_checksum)
  if(NOT whole STREQUAL by_layer)
    list(GET schemes ${i} scheme)
    message(FATAL_ERROR "${scheme}: weights are ${by_layer} instead of ${whole}")
  endif()
endforeach()
