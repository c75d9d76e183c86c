# cmake -DHOW=how -P lost_rank.cmake -- command...
# Runs the command, in which rank 2 of 4 is lost in that way. The others have to say what that was and to end with a
# failure, all within a minute.
cmake_minimum_required(VERSION 3.22)
include(${CMAKE_CURRENT_LIST_DIR}/../../cmake/command.cmake)

# A killed rank takes along what it had not handed over, so that one of the others may still be in the operation before.
set(killed "stalled: syncopate: nothing moved for 2 s in a sum of 5000 floats, operation 5[0-9] of its channel: nothing came from rank 2, ranks? [013][^\n]*")
set(fails "peer_failure: syncopate: rank 2 failed while other ranks depended on it: no more data")
set(not_created "stalled: syncopate: nothing moved for 2 s in the making of a communicator, operation 0 of its channel: not all ranks have called it")
set(not_duplicated "stalled: syncopate: nothing moved for 2 s in a duplicate, operation 1 of its channel: nothing came from rank 2, ranks 0, 1, 3 wait for it")

execute_process(COMMAND ${command} RESULT_VARIABLE code OUTPUT_VARIABLE output ERROR_VARIABLE output TIMEOUT 60)
message("${output}")
foreach(rank IN ITEMS 0 1 3)
  if(NOT output MATCHES "rank ${rank} ${${HOW}}\n")
    message(FATAL_ERROR "rank ${rank} did not say: ${${HOW}}")
  endif()
  if(HOW STREQUAL "killed" AND NOT output MATCHES "rank ${rank} ends with 1\n")
    message(FATAL_ERROR "rank ${rank} did not end with 1")
  endif()
endforeach()
if(NOT code MATCHES "^[0-9]+$" OR (code EQUAL 0 AND NOT HOW STREQUAL "killed"))
  message(FATAL_ERROR "the job ended with ${code}")
endif()
