# Fails with one line per header in ${include} that has more than 300 lines, or 250 where the engine reads like a
# description of a step, and per function body that has more than 60.
cmake_minimum_required(VERSION 3.22)

file(GLOB_RECURSE headers RELATIVE ${include} ${include}/*.hpp)
if(NOT headers)
  message(FATAL_ERROR "no headers in ${include}")
endif()
execute_process(COMMAND awk -f ${CMAKE_CURRENT_LIST_DIR}/short_headers.awk ${headers} WORKING_DIRECTORY ${include}
                RESULT_VARIABLE result OUTPUT_VARIABLE complaints)
if(NOT result EQUAL 0)
  message(FATAL_ERROR "${complaints}")
endif()
