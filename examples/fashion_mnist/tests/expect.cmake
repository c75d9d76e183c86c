# cmake -DCODE=exit-code -DTEXT=regular-expression [-DTIMES=n] -P expect.cmake -- command...
# The command has to end with that exit code (or with any but 0, for CODE=failure) within a minute, and its output has
# to contain that text; with TIMES, that often.
include(${CMAKE_CURRENT_LIST_DIR}/../../../cmake/command.cmake)
execute_process(COMMAND ${command} RESULT_VARIABLE code OUTPUT_VARIABLE output ERROR_VARIABLE output TIMEOUT 60)
message("${output}")
if(NOT (code STREQUAL CODE OR (CODE STREQUAL "failure" AND code MATCHES "^[1-9][0-9]*$")))
  message(FATAL_ERROR "ended with ${code} instead of ${CODE}")
endif()
string(REGEX MATCHALL "${TEXT}" found "${output}")
list(LENGTH found count)
if(count EQUAL 0)
  message(FATAL_ERROR "said nothing like '${TEXT}'")
elseif(DEFINED TIMES AND NOT count EQUAL TIMES)
  message(FATAL_ERROR "said '${TEXT}' ${count} times instead of ${TIMES}")
endif()
