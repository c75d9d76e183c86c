# Tests of the main job: its parts, short runs of every scheme, and what it says to bad input.
set(fashion_mnist_tests ${CMAKE_CURRENT_LIST_DIR}/tests)

if(TARGET syncopate_test_main)
  foreach(part IN ITEMS network data)
    add_executable(fashion_mnist_${part}_test ${fashion_mnist_tests}/${part}.cpp)
    target_compile_definitions(fashion_mnist_${part}_test PRIVATE HAVE_CBLAS=1
                                                                  SYNCOPATE_EXAMPLE_DATA="${SYNCOPATE_FASHION_MNIST_DIR}")
    target_link_libraries(fashion_mnist_${part}_test PRIVATE syncopate_adaptors xtensor-blas Boost::iostreams
                                                             syncopate_test_main)
    syncopate_add_test(NAME example/fashion_mnist/${part} COMMAND fashion_mnist_${part}_test)
  endforeach()
  target_sources(fashion_mnist_data_test PRIVATE ${CMAKE_CURRENT_LIST_DIR}/data.cpp)
endif()

# Refuses what it cannot do: fashion_mnist_refuses(name exit-code text argument...).
function(fashion_mnist_refuses name code text)
  syncopate_add_test(
    NAME example/fashion_mnist/refuses_${name} TIMEOUT 60
    COMMAND ${CMAKE_COMMAND} -DCODE=${code} "-DTEXT=syncopate: .*${text}" -P ${fashion_mnist_tests}/expect.cmake --
            $<TARGET_FILE:fashion_mnist> ${ARGN})
endfunction()
fashion_mnist_refuses(unknown_scheme 2 "unknown scheme magic; known are synchronous, layerwise, sharded, factors, lazy, pseudo-synchronous, lookahead, od-sgd, dasgd, local-sgd, all"
                      --scheme magic)
fashion_mnist_refuses(unknown_option 2 "--magic" --magic)
fashion_mnist_refuses(stray_word 2 "magic" magic)
fashion_mnist_refuses(unknown_communicator 2 "unknown communicator post; known are threads, mpi" --communicator post)
fashion_mnist_refuses(unknown_schedule 2 "unknown schedule linear; known are constant, cosine" --schedule linear)
fashion_mnist_refuses(unknown_predictor 2 "unknown predictor oracle; known are local-gradient" --predictor oracle)
fashion_mnist_refuses(unfit_predictor 2 "pseudo-synchronous cannot use the predictor local-gradient; it can use linear-extra"
                      --scheme pseudo-synchronous --predictor local-gradient)
fashion_mnist_refuses(delay_without_use 2 "scheme synchronous has no --delay" --scheme synchronous --delay 1)
fashion_mnist_refuses(period_without_use 2 "scheme od-sgd has no --period" --scheme od-sgd --period 4)
fashion_mnist_refuses(predictor_without_use 2 "scheme dasgd has no --predictor" --scheme dasgd --predictor no-prediction)
fashion_mnist_refuses(delay_beyond_period 2 "no longer than its --period, but they are 5 and 4" --scheme dasgd --delay 5)
fashion_mnist_refuses(no_ranks 2 "--ranks must be between 1 and 1024, not 0" --ranks 0)
fashion_mnist_refuses(negative_ranks 2 "--ranks must be between 1 and 1024, not -2" --ranks -2)
fashion_mnist_refuses(negative_epochs 2 "--epochs must be .*, not -1" --epochs -1)
fashion_mnist_refuses(negative_batch 2 "--batch must be .*, not -32" --batch -32)
fashion_mnist_refuses(negative_seed 2 "--seed must be .*, not -1" --seed -1)
fashion_mnist_refuses(negative_learning_rate 2 "--learning-rate must be at least 0 and finite, not -0.1"
                      --learning-rate -0.1)
fashion_mnist_refuses(learning_rate_not_a_number 2 "--learning-rate must be at least 0 and finite, not nan"
                      --learning-rate nan)
fashion_mnist_refuses(momentum_of_one 2 "--momentum must be at least 0 and below 1, not 1" --momentum 1)
fashion_mnist_refuses(negative_delay 2 "--delay must be .*, not -1" --delay -1)
fashion_mnist_refuses(no_period 2 "--period must be .*, not 0" --period 0)
fashion_mnist_refuses(negative_link 2 "--link-gbit must be .*, not -1" --link-gbit -1)
fashion_mnist_refuses(infinite_latency 2 "--link-latency-us must be .*, not inf" --link-latency-us inf)
fashion_mnist_refuses(unknown_network 2 "unknown network rnn; known are mlp, cnn" --network rnn)
fashion_mnist_refuses(unknown_growth 2 "unknown growth fast; known are none, milestones, plateau, noise" --grow-batch fast)
fashion_mnist_refuses(largest_batch_without_growth 2 "--largest-batch needs a --grow-batch" --largest-batch 64)
fashion_mnist_refuses(largest_batch_below_first 2 "--largest-batch must be between 128 and" --grow-batch plateau
                      --largest-batch 64)
fashion_mnist_refuses(noise_of_weights 2 "dasgd and local-sgd average weights" --grow-batch noise --scheme dasgd)
fashion_mnist_refuses(no_number 2 "--epochs" --epochs many)
fashion_mnist_refuses(missing_data 1 "/nonexistent/train-images-idx3-ubyte.gz cannot be opened" --data /nonexistent)
fashion_mnist_refuses(checkpoint_of_all 2 "--checkpoint needs a --scheme" --checkpoint model)
fashion_mnist_refuses(resume_from_nothing 2 "need a --checkpoint" --resume)
fashion_mnist_refuses(negative_stall_limit 2 "--stall-limit must be .*, not -1" --stall-limit -1)
fashion_mnist_refuses(unwritable_json 1 "/nonexistent/out.json cannot be opened for writing" --json /nonexistent/out.json)

if(NOT EXISTS ${SYNCOPATE_FASHION_MNIST_DIR}/train-images-idx3-ubyte.gz)
  message(STATUS "syncopate: no test trains on Fashion-MNIST, since it is not in ${SYNCOPATE_FASHION_MNIST_DIR}; "
                 "on Debian and Ubuntu, install dataset-fashion-mnist")
  return()
endif()

# The files in the package, with one of them cut short or replaced by another kind.
foreach(damage IN ITEMS truncated swapped)
  set(directory ${CMAKE_CURRENT_BINARY_DIR}/fashion_mnist_${damage})
  file(MAKE_DIRECTORY ${directory})
  foreach(name IN ITEMS train-images-idx3 train-labels-idx1 t10k-images-idx3 t10k-labels-idx1)
    file(CREATE_LINK ${SYNCOPATE_FASHION_MNIST_DIR}/${name}-ubyte.gz ${directory}/${name}-ubyte.gz SYMBOLIC)
  endforeach()
endforeach()
file(REMOVE ${CMAKE_CURRENT_BINARY_DIR}/fashion_mnist_truncated/t10k-images-idx3-ubyte.gz)
execute_process(COMMAND head -c 1000000 ${SYNCOPATE_FASHION_MNIST_DIR}/t10k-images-idx3-ubyte.gz
                OUTPUT_FILE ${CMAKE_CURRENT_BINARY_DIR}/fashion_mnist_truncated/t10k-images-idx3-ubyte.gz)
file(CREATE_LINK ${SYNCOPATE_FASHION_MNIST_DIR}/t10k-labels-idx1-ubyte.gz
     ${CMAKE_CURRENT_BINARY_DIR}/fashion_mnist_swapped/train-images-idx3-ubyte.gz SYMBOLIC)
fashion_mnist_refuses(truncated_data 1 "truncated/t10k-images-idx3-ubyte.gz is damaged, truncated"
                      --data ${CMAKE_CURRENT_BINARY_DIR}/fashion_mnist_truncated)
fashion_mnist_refuses(wrong_magic 1 "swapped/train-images-idx3-ubyte.gz has the magic number 2049"
                      --data ${CMAKE_CURRENT_BINARY_DIR}/fashion_mnist_swapped)
fashion_mnist_refuses(too_few_samples 1 "100 training samples do not fill one step of 2 ranks with 64 samples each"
                      --train-samples 100 --batch 64)

fashion_mnist_refuses(growth_beyond_data 1 "grow to 512 samples on each of 2 ranks, but there are only 1000"
                      --train-samples 1000 --batch 64 --grow-batch plateau)

# Short runs, at a learning rate at which every scheme and predictor is stable.
set(short --train-samples 4096 --test-samples 1000 --epochs 2 --batch 32 --learning-rate 0.05 --momentum 0.5)
set(two_processes ${MPIEXEC_EXECUTABLE} ${MPIEXEC_NUMPROC_FLAG} 2 ${syncopate_mpiexec_flags})
if(TARGET syncopate::boost_mpi)
  set(mpirun "-DMPIRUN=${two_processes}")
endif()
foreach(script IN ITEMS all_schemes predictors growing_batch)
  set(directory ${CMAKE_CURRENT_BINARY_DIR}/fashion_mnist_${script})
  file(MAKE_DIRECTORY ${directory})
  syncopate_add_test(
    NAME example/fashion_mnist/${script} PROCESSORS 2
    COMMAND ${CMAKE_COMMAND} -DPROGRAM=$<TARGET_FILE:fashion_mnist> "-DOPTIONS=${short}" -DDIRECTORY=${directory}
            ${mpirun} -P ${fashion_mnist_tests}/${script}.cmake)
endforeach()
set(root_may_run OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1)
set_property(TEST example/fashion_mnist/all_schemes APPEND PROPERTY ENVIRONMENT ${root_may_run})

# With a terminal on standard error, which `script` provides, there is a progress bar.
find_program(SCRIPT_EXECUTABLE script)
if(SCRIPT_EXECUTABLE)
  syncopate_add_test(
    NAME example/fashion_mnist/progress_bar PROCESSORS 2
    COMMAND
      ${CMAKE_COMMAND} -DCODE=0 "-DTEXT=synchronous +\\[=+ *\\] +[0-9]+ %" -P ${fashion_mnist_tests}/expect.cmake --
      ${SCRIPT_EXECUTABLE} -qec "$<TARGET_FILE:fashion_mnist> --scheme synchronous --train-samples 1024 --epochs 1"
      /dev/null)
endif()

# Under MPI a fault ends all processes, at once, and is told once.
if(TARGET syncopate::boost_mpi)
  function(fashion_mnist_mpi_refuses name text)
    syncopate_add_test(
      NAME example/fashion_mnist/mpi_refuses_${name} PROCESSORS 2 TIMEOUT 60
      COMMAND ${CMAKE_COMMAND} -DCODE=failure "-DTEXT=syncopate: [^\n]*${text}" -DTIMES=1 -P
              ${fashion_mnist_tests}/expect.cmake -- ${two_processes} ${ARGN})
    set_property(TEST example/fashion_mnist/mpi_refuses_${name} APPEND PROPERTY ENVIRONMENT ${root_may_run})
  endfunction()
  if(mpiexec_version MATCHES "Open MPI|OpenRTE")  # whose mpirun can leave ranks alone when one of them dies
    syncopate_add_test(
      NAME example/fashion_mnist/kill_and_resume PROCESSORS 4 TIMEOUT 200
      COMMAND sh ${fashion_mnist_tests}/kill_and_resume.sh ${CMAKE_CURRENT_BINARY_DIR}/fashion_mnist_killed 4
              $<TARGET_FILE:fashion_mnist> ${MPIEXEC_EXECUTABLE} ${syncopate_mpiexec_flags})
    set_property(TEST example/fashion_mnist/kill_and_resume APPEND PROPERTY ENVIRONMENT ${root_may_run})
  endif()
  fashion_mnist_mpi_refuses(unknown_scheme "unknown scheme magic" $<TARGET_FILE:fashion_mnist> --scheme magic)
  fashion_mnist_mpi_refuses(other_ranks "--ranks 3 contradicts the 2 ranks that MPI started"
                            $<TARGET_FILE:fashion_mnist> --ranks 3)
  fashion_mnist_mpi_refuses(threads "--communicator threads under mpirun" $<TARGET_FILE:fashion_mnist> --communicator
                            threads)
  fashion_mnist_mpi_refuses(link "modelled link exists only" $<TARGET_FILE:fashion_mnist> --link-gbit 1)
  fashion_mnist_mpi_refuses(missing_data "/nonexistent/train-images" $<TARGET_FILE:fashion_mnist> --data /nonexistent)
  # Only the second of the two cannot read its data.
  fashion_mnist_mpi_refuses(
    missing_data_on_one_rank "/nonexistent/train-images" $<TARGET_FILE:fashion_mnist> --train-samples 1024 :
    ${MPIEXEC_NUMPROC_FLAG} 1 $<TARGET_FILE:fashion_mnist> --train-samples 1024 --data /nonexistent)
endif()
