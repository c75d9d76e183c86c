# Prints one line per header that has too many lines, and per function body that does; see short_headers.cmake.
# Functions are found by their braces: one that opens after a parenthesis, and outside of any other function.

function complain(what) {
  print what
  failed = 1
}

function finish_file() {
  if (!file) return
  allowed = file ~ /(^|\/)(update_scheme|detail\/engine\/engine)\.hpp$/ ? 250 : 300
  if (lines > allowed) complain(file " has " lines " lines: " allowed " are allowed")
  if (depth) complain(file " has braces that this test does not understand")
}

function opens_function(head) {
  while (gsub(/<[^<>]*>/, "", head)) continue  # template arguments say class, too
  return head ~ /\)/ && head !~ /(^|[^a-z_])(class|struct|union|enum|namespace)[^a-z_]/
}

FNR == 1 {
  finish_file()
  file = FILENAME
  depth = function_depth = continued = after_function = 0
  head = ""
}

{
  lines = FNR
  macro = continued || $0 ~ /^[ \t]*#/
  continued = macro && $0 ~ /\\$/
  if (macro) next

  line = $0
  gsub(/\\./, "", line)  # escaped quotes
  gsub(/'[{}"]'/, "", line)
  gsub(/"[^"]*"/, "", line)
  sub(/\/\/.*/, "", line)

  count = length(line)
  for (i = 1; i <= count; ++i) {
    c = substr(line, i, 1)
    # What a constructor's member is initialised with looks like a body, and the body is still to come.
    if (after_function && c != " ") {
      if (c == "," || c == "{") head = "()"
      after_function = 0
    }
    if (c == "{") {
      ++depth
      if (!function_depth && opens_function(head)) {
        function_depth = depth
        opened = FNR
      }
      head = ""
    } else if (c == "}") {
      if (depth == function_depth) {
        function_depth = 0
        after_function = 1
        length_of_body = FNR - opened - 1
        if (length_of_body > 60) complain(file ":" opened ": a function body has " length_of_body " lines: 60 are allowed")
      }
      --depth
      head = ""
    } else if (c == ";") {
      head = ""
    } else {
      head = head c
    }
  }
  head = head " "
}

END {
  finish_file()
  exit failed
}
