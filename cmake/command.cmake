# Leaves in `command` the words that follow -- on the command line of a script: cmake -P script.cmake -- command...
foreach(i RANGE 1 ${CMAKE_ARGC})
  if(DEFINED command)
    list(APPEND command "${CMAKE_ARGV${i}}")
  elseif("${CMAKE_ARGV${i}}" STREQUAL "--")
    set(command "")
  endif()
endforeach()
