# Functions for the scripts beside this one.

# run(<json file> <command>...): runs `command... --json file`, which has to succeed and to print nothing to standard
# error: that is no terminal, so there is no progress bar. Leaves what it printed in `table` and the file in `json`.
function(run file)
  execute_process(COMMAND ${ARGN} --json ${file} RESULT_VARIABLE code OUTPUT_VARIABLE out ERROR_VARIABLE err)
  message("${out}")
  if(NOT code STREQUAL "0")
    message(FATAL_ERROR "ended with ${code}: ${err}")
  elseif(NOT err STREQUAL "")
    message(FATAL_ERROR "printed to standard error: ${err}")
  endif()
  file(READ ${file} text)
  set(table "${out}" PARENT_SCOPE)
  set(json "${text}" PARENT_SCOPE)
endfunction()

# check_result(<object> <scheme> <ranks> <epochs> <least accuracy>): has exactly the promised keys, and has learnt.
function(check_result object scheme ranks epochs least)
  set(expected scheme ranks epochs test_accuracy train_loss seconds_per_step seconds_compute seconds_communication
               seconds_exposed hidden_fraction bytes_per_step steps growth weights_checksum)
  string(JSON count LENGTH "${object}")
  math(EXPR last "${count} - 1")
  foreach(m RANGE ${last})
    string(JSON key MEMBER "${object}" ${m})
    list(APPEND keys ${key})
  endforeach()
  list(SORT keys)
  list(SORT expected)
  if(NOT keys STREQUAL expected)
    message(FATAL_ERROR "the keys are ${keys} instead of ${expected}")
  endif()

  string(JSON found_scheme GET "${object}" scheme)
  string(JSON found_ranks GET "${object}" ranks)
  string(JSON found_epochs GET "${object}" epochs)
  string(JSON accuracies LENGTH "${object}" test_accuracy)
  string(JSON losses LENGTH "${object}" train_loss)
  if(NOT "${found_scheme} ${found_ranks} ${found_epochs} ${accuracies} ${losses}" STREQUAL
     "${scheme} ${ranks} ${epochs} ${epochs} ${epochs}")
    message(FATAL_ERROR "this is no result of ${scheme} with ${ranks} ranks and ${epochs} epochs: ${object}")
  endif()

  math(EXPR last "${epochs} - 1")
  string(JSON accuracy GET "${object}" test_accuracy ${last})
  string(JSON step GET "${object}" seconds_per_step)
  string(JSON bytes GET "${object}" bytes_per_step)
  if(NOT (accuracy GREATER_EQUAL least AND accuracy LESS_EQUAL 1))
    message(FATAL_ERROR "${scheme} reached an accuracy of ${accuracy} instead of ${least}")
  elseif(NOT (step GREATER 0 AND bytes GREATER 0))
    message(FATAL_ERROR "${scheme} took ${step} s and ${bytes} bytes per step")
  endif()
endfunction()

# check_same(<scheme> <where> <object> <other where> <other object> <key>...): the two have the same values.
function(check_same scheme here object there other_object)
  foreach(key IN LISTS ARGN)
    string(JSON one GET "${object}" ${key})
    string(JSON other GET "${other_object}" ${key})
    if(NOT one STREQUAL other)
      message(FATAL_ERROR "${scheme}: ${key} is ${one} ${here} and ${other} ${there}")
    endif()
  endforeach()
endfunction()
