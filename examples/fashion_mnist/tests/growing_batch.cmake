# cmake -DPROGRAM=fashion_mnist -DOPTIONS=list -DDIRECTORY=for-files -P growing_batch.cmake
#
# A batch that grows needs fewer steps, under whichever scheme, and with either network; resumed from a checkpoint,
# training ends with bitwise the weights of a run that was not interrupted.
include(${CMAKE_CURRENT_LIST_DIR}/run.cmake)

foreach(case IN ITEMS synchronous/milestones layerwise/noise sharded/plateau lookahead/milestones)
  string(REPLACE "/" ";" case ${case})
  list(GET case 0 scheme)
  list(GET case 1 growth)
  set(options --ranks 2 ${OPTIONS} --link-gbit 100 --scheme ${scheme} --grow-batch ${growth})
  if(scheme STREQUAL "sharded")
    list(APPEND options --network cnn)
  endif()
  file(GLOB old ${DIRECTORY}/checkpoint*)
  if(old)
    file(REMOVE ${old})
  endif()
  set(checkpoint --checkpoint ${DIRECTORY}/checkpoint)
  run(${DIRECTORY}/whole.json ${PROGRAM} ${options} ${checkpoint} --checkpoint-steps 15)
  set(whole "${json}")
  string(JSON whole GET "${whole}" 0)
  check_result("${whole}" ${scheme} 2 2 0.6)
  run(${DIRECTORY}/resumed.json ${PROGRAM} ${options} ${checkpoint} --resume)
  string(JSON resumed GET "${json}" 0)
  check_same(${scheme} "when not interrupted" "${whole}" "when resumed" "${resumed}"
             steps test_accuracy train_loss weights_checksum)
  string(JSON steps GET "${whole}" steps)
  string(JSON growths LENGTH "${whole}" growth)
  if(growth STREQUAL "milestones" AND NOT (growths EQUAL 2 AND steps LESS 128))
    message(FATAL_ERROR "${scheme}: the batch grew ${growths} times, in ${steps} steps")
  endif()
endforeach()
