# Compiles `source` to assembly at -O2, and fails unless vectorised.awk finds its loops vectorised; where `expected` is
# not_vectorised, unless it does not.
# Of the loops of policies alone: the engine's own are declared, not defined.
execute_process(COMMAND ${compiler} -std=c++20 -O2 -DSYNCOPATE_COMPILED -I${include} -S ${source} -o ${scratch} COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${awk} -f ${CMAKE_CURRENT_LIST_DIR}/vectorised.awk ${scratch} RESULT_VARIABLE failed
                OUTPUT_VARIABLE text)
if(expected STREQUAL "vectorised" AND failed)
  message(FATAL_ERROR "${text}")
elseif(expected STREQUAL "not_vectorised" AND NOT failed)
  message(FATAL_ERROR "the loops of ${source} count as vectorised:\n${text}")
endif()
message(STATUS "${text}")
