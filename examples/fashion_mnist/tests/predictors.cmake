# cmake -DPROGRAM=fashion_mnist -DOPTIONS=list -DDIRECTORY=for-files -P predictors.cmake
#
# Each predictor with each scheme that has it. They have to learn, and to be different things.
include(${CMAKE_CURRENT_LIST_DIR}/run.cmake)

set(committed no-prediction exponential-smoothing adaptive-exponential-smoothing linear-extrapolation
              delay-compensation)
foreach(scheme pseudo-synchronous lookahead)
  set(predictors ${committed})
  if(scheme STREQUAL lookahead)
    list(APPEND predictors local-gradient blended-gradient)
  endif()
  set(losses "")
  foreach(predictor IN LISTS predictors)
    run(${DIRECTORY}/${scheme}.json ${PROGRAM} --scheme ${scheme} --predictor ${predictor} --ranks 2 ${OPTIONS}
        --link-gbit 0)
    string(JSON object GET "${json}" 0)
    check_result("${object}" ${scheme} 2 2 0.4)
    string(JSON loss GET "${object}" train_loss 1)
    list(FIND losses "${loss}" same)
    if(NOT same EQUAL -1)
      message(FATAL_ERROR "${scheme} with ${predictor} does what it does with another predictor: ${losses}; ${loss}")
    endif()
    list(APPEND losses "${loss}")
  endforeach()
endforeach()
