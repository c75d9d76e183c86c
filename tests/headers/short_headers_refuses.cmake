# Proves that short_headers.cmake can fail: each header below, in a tree of its own, must be reported by name and line.
cmake_minimum_required(VERSION 3.22)

# Writes a header of `before`, so many lines, and `after`; `output` is what is said of it, empty if nothing is.
function(check header before lines after)
  string(REPEAT "  //\n" ${lines} text)
  file(REMOVE_RECURSE ${scratch})
  file(WRITE ${scratch}/syncopate/${header} "${before}${text}${after}")
  execute_process(COMMAND ${CMAKE_COMMAND} -D include=${scratch} -P ${CMAKE_CURRENT_LIST_DIR}/short_headers.cmake
                  RESULT_VARIABLE result ERROR_VARIABLE output)
  if(result EQUAL 0)
    set(output "")
  endif()
  string(REGEX REPLACE "[ \n]+" " " output "${output}")
  set(output "${output}" PARENT_SCOPE)
endfunction()

function(refused header before lines after expected)
  check(${header} "${before}" ${lines} "${after}")
  if(NOT output MATCHES "${expected}")
    message(SEND_ERROR "${header} with ${lines} lines after\n${before}was not refused as expected:\n${output}")
  endif()
endfunction()

function(accepted header before lines after)
  check(${header} "${before}" ${lines} "${after}")
  if(output)
    message(SEND_ERROR "${header} with ${lines} lines after\n${before}was refused:\n${output}")
  endif()
endfunction()

refused(rules/sgd.hpp "" 301 "" "syncopate/rules/sgd.hpp has 301 lines: 300 are allowed")
refused(update_scheme.hpp "" 251 "" "syncopate/update_scheme.hpp has 251 lines: 250 are allowed")
refused(detail/engine/engine.hpp "" 251 "" "syncopate/detail/engine/engine.hpp has 251 lines: 250 are allowed")
accepted(rules/sgd.hpp "" 300 "")
accepted(update_scheme.hpp "" 250 "")

# Functions, with what is like a function's body before them, or around them.
set(too_long "a function body has 61 lines: 60 are allowed")
foreach(function IN ITEMS "void f() {" "template <class T>\nrequires requires(T t) { t.f(); }\nauto f(T) -> int {"
                          "struct s {\n  s(int n = {}) : a{n}, b{n} {" "namespace n {\nclass c : d<int()> {\n  int f() const {"
                          "const char* f(char c = '{', const char* s = \"\\\"{\") {")
  string(REGEX MATCHALL "\n" ends "${function}\n")
  list(LENGTH ends line)
  string(REGEX MATCHALL "{\n" scopes "${function}")
  list(LENGTH scopes scopes)
  string(REPEAT "}" ${scopes} closed)
  refused(rules/sgd.hpp "${function}\n" 61 "}\n${closed}\n" "syncopate/rules/sgd.hpp:${line}: ${too_long}")
  accepted(rules/sgd.hpp "${function}\n" 60 "}\n${closed}\n")
endforeach()
accepted(rules/sgd.hpp "template <class A, class B>\nclass c final : public d<int()> {\n" 200 "  int f() { return 1; }\n};\n")
accepted(rules/sgd.hpp "#define BODY \\\n  void f() {\n" 200 "")
refused(rules/sgd.hpp "void f() {\n" 1 "" "syncopate/rules/sgd.hpp has braces that this test does not understand")
file(REMOVE_RECURSE ${scratch})
