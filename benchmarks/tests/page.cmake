# cmake -Dreport=program -Ddirectory=scratch -P page.cmake: a page has a plot for each kind of benchmark, the machine and
# the numbers, and refers to nothing outside.
file(REMOVE_RECURSE "${directory}")
execute_process(COMMAND ${report} page "${directory}" ${CMAKE_CURRENT_LIST_DIR}/old.json ${CMAKE_CURRENT_LIST_DIR}/others.json
                RESULT_VARIABLE code OUTPUT_VARIABLE out ERROR_VARIABLE err)
if(NOT "${code}${err}" STREQUAL "0" OR NOT out STREQUAL "${directory}/index.html\n")
  message(FATAL_ERROR "ended with ${code}: ${out}${err}")
endif()
file(READ "${directory}/index.html" page)

foreach(text IN ITEMS
        "<h2>update_overhead</h2>" "time of a step / time of hand_fused, 65536 parameters" "gradient_averaging sgd float"
        "memcpy" "<h2>others</h2>" "time: sum" "time / time of mpi_allreduce: sum" "mpi_allreduce"
        "70000 lines, 0.50 of xtensor" "local/sgd" "0.75" "step tensors" "poll" "3 ns" "L1 Data 32 KiB" "g++ &lt;12&gt; &amp; more"
        "2026-01-02" "<td>gradient_averaging/smoothing/sgd/float/1024</td><td class=\"number\">10 us</td>")
  string(FIND "${page}" "${text}" found)
  if(found EQUAL -1)
    message(SEND_ERROR "the page does not say '${text}'")
  endif()
endforeach()

# hand_fused, bandwidth, two without bandwidth; sum, its two ratios; headers; instructions; tensors, those without number
string(REGEX MATCHALL "<svg" plots "${page}")
list(LENGTH plots count)
if(NOT count EQUAL 11)
  message(SEND_ERROR "the page has ${count} plots")
endif()
string(REGEX MATCHALL "(src|href)=\"[^#\"][^\"]*" references "${page}")
if(references)
  message(SEND_ERROR "the page refers to ${references}")
endif()
