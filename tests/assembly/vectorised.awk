# Reads an assembly listing (x86-64, AT&T syntax) and looks at the innermost loops with arithmetic in single precision,
# function by function: a formula's loop comes vectorised (packed), and once more for the elements that are left over
# (scalar). So loops of the same kinds of operations must not be more often scalar than packed.
function judge(    l, k, i, operation, inner, packed, scalar, kinds, kind, found) {
  delete packed_loops
  delete scalar_loops
  for (l = 1; l <= loops; l++) {
    inner = 1
    for (k = 1; k <= loops; k++)
      if (first[k] >= first[l] && last[k] <= last[l] && (first[k] > first[l] || last[k] < last[l])) inner = 0
    if (!inner) continue
    packed = scalar = 0
    delete found
    for (i = first[l]; i <= last[l]; i++) {
      operation = text[i]
      sub(/^v/, "", operation)
      if (operation !~ /^(add|sub|mul|div|sqrt|fn?m(add|sub)[0-9]*)[ps]s$/) continue
      operation ~ /ps$/ ? packed++ : scalar++
      sub(/[ps]s$/, "", operation)
      if (operation ~ /^(add|sub|mul|f)/) operation = "add"  # compilers contract and negate as they like
      found[operation] = 1
    }
    if (packed + scalar == 0) continue
    kinds = ("add" in found ? "add " : "") ("div" in found ? "div " : "") ("sqrt" in found ? "sqrt " : "")
    scalar > 0 ? scalar_loops[kinds]++ : packed_loops[kinds]++
    all_packed += scalar == 0
  }
  for (kinds in scalar_loops)
    if (scalar_loops[kinds] > packed_loops[kinds]) {
      print name ": of the loops with " kinds scalar_loops[kinds] " are scalar, and " packed_loops[kinds] + 0 " packed"
      failed = 1
    }
}
/^[ \t]*\.type[ \t].*@function/ { judge(); name = $2; n = loops = 0; delete place; next }
/^[.A-Za-z_0-9$]+:/ { label = $1; sub(/:.*/, "", label); place[label] = n; next }
/^[ \t]+[a-z]/ {
  text[n] = $1
  if ($1 ~ /^j/ && ($2 in place)) { first[++loops] = place[$2]; last[loops] = n }
  n++
}
END {
  judge()
  if (all_packed == 0) { print "there is no packed loop at all"; failed = 1 }
  else print all_packed " packed loops"
  exit failed
}
