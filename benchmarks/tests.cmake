# Tests of the programs here: that they run and measure, and what the report makes of results.
set(benchmark_tests ${CMAKE_CURRENT_LIST_DIR}/tests)
set(expect ${PROJECT_SOURCE_DIR}/examples/fashion_mnist/tests/expect.cmake)  # exit code and output of a command

# That updates by hand do what schemes do: the differences in the weights, written 12.3n or 0, are not of a thousandth.
if(TARGET update_overhead_check)
  syncopate_add_test(NAME benchmark/update_overhead TIMEOUT 60
                     COMMAND update_overhead_check --benchmark_filter=/1024/ --benchmark_counters_tabular=false)
  set_tests_properties(benchmark/update_overhead PROPERTIES FAIL_REGULAR_EXPRESSION "difference=[0-9.]*[1-9][0-9.]*m? ")
endif()

if(TARGET communicators)
  syncopate_add_mpi_test(
    NAME benchmark/communicators RANKS 2 TIMEOUT 60 COMMAND $<TARGET_FILE:communicators> --benchmark_filter=/4/
    LAUNCHER ${CMAKE_COMMAND} -DCODE=0 "-DTEXT=ranks: 2\n.*sum/[a-z_]+/4/.*ratio_to_mpi_allreduce=[0-9]" -P ${expect} --
             ${MPIEXEC_EXECUTABLE} ${syncopate_mpiexec_flags} ${MPIEXEC_NUMPROC_FLAG})
endif()

if(TARGET compile_time)
  syncopate_add_test(
    NAME benchmark/compile_time TIMEOUT 60
    COMMAND ${CMAKE_COMMAND} -DCODE=0 "-DTEXT=include/vector/.*lines=[1-9]" -P ${expect} --
            $<TARGET_FILE:compile_time> --benchmark_filter=include/vector --benchmark_min_time=0.01)
endif()

if(NOT TARGET benchmark_report)
  return()
endif()

# report_says(name exit-code text argument...)
function(report_says name code text)
  syncopate_add_test(
    NAME benchmark/report_${name} TIMEOUT 60
    COMMAND ${CMAKE_COMMAND} -DCODE=${code} "-DTEXT=${text}" -P ${expect} -- $<TARGET_FILE:benchmark_report> ${ARGN})
endfunction()
set(old ${benchmark_tests}/old.json)
set(new ${benchmark_tests}/new.json)

# Noise is three times the larger median absolute deviation: of 0.1 from 10, of 50 from 650, and so on.
set(smoothing "gradient_averaging/smoothing/sgd/float")
report_says(shows_a_difference 0 "\n${smoothing}/1024 +time +10 us +12 us +1\\.200 +3\\.0 %  more\n" compare ${old} ${new})
report_says(knows_noise 0 "\n${smoothing}/65536 +time +650 us +715 us +1\\.100 +23\\.1 %\n" compare ${old} ${new})
report_says(compares_ratios 0 "\n +ratio_to_hand_fused +1\\.1 +0\\.55 +0\\.500 +27\\.3 %  less\n" compare ${old} ${new})
report_says(needs_no_repetitions 0 "extrapolation/sgd/float/65536  time +800 us +880 us +1\\.100 +-\n"
            compare ${old} ${new})
report_says(tells_of_failures 0 "compensation/sgd/float/65536 +failed: out of luck\n" compare ${old} ${new})
report_says(tells_what_is_missing 0 "only in [^\n]*old.json: [^\n]*/gone/[^\n]*\nonly in [^\n]*new.json: [^\n]*/arrived/"
            compare ${old} ${new})
report_says(counts 0 "\n2 of 6 values whose noise is known" compare ${old} ${new})
report_says(fails 1 "2 grew by more than 15 %, or failed" compare ${old} ${new} --fail-above 15)
report_says(does_not_fail 0 "\n0 of 6 values whose noise is known" compare ${old} ${old} --fail-above 0)
report_says(refuses_no_file 2 "^syncopate: cannot read [^\n]*none.json\n$" compare ${old} ${benchmark_tests}/none.json)
report_says(refuses_other_text 2 "^syncopate: [^\n]*cut_off.json is not what Google Benchmark writes as JSON: "
            compare ${benchmark_tests}/cut_off.json ${new})
report_says(refuses_other_json 2 "^syncopate: [^\n]*list.json is not what Google Benchmark writes as JSON: "
            compare ${benchmark_tests}/list.json ${new})
report_says(refuses_aggregates 2 "^syncopate: [^\n]*aggregates.json holds no benchmark" compare
            ${benchmark_tests}/aggregates.json ${new})
report_says(refuses_strangers 2 "^syncopate: [^\n]*old.json and [^\n]*others.json share no benchmark\n$" compare ${old}
            ${benchmark_tests}/others.json)
report_says(page_needs_a_directory 2 "syncopate: cannot write /dev/null/" page /dev/null ${old})

syncopate_add_test(NAME benchmark/report_without_gnuplot TIMEOUT 60
                   COMMAND ${CMAKE_COMMAND} -DCODE=2 "-DTEXT=syncopate: gnuplot did not draw [^\n]*gnuplot-nox" -P ${expect}
                           -- ${CMAKE_COMMAND} -E env PATH=/none $<TARGET_FILE:benchmark_report> page
                           ${CMAKE_CURRENT_BINARY_DIR}/no_page ${old})
find_program(SYNCOPATE_GNUPLOT gnuplot)
if(SYNCOPATE_GNUPLOT)
  syncopate_add_test(
    NAME benchmark/report_page TIMEOUT 60
    COMMAND ${CMAKE_COMMAND} -Dreport=$<TARGET_FILE:benchmark_report> -Ddirectory=${CMAKE_CURRENT_BINARY_DIR}/it's\ a\ page
            -P ${benchmark_tests}/page.cmake)
else()
  message(STATUS "syncopate: pages of benchmarks not tested, since gnuplot was not found; on Debian and Ubuntu, install "
                 "gnuplot-nox")
endif()
