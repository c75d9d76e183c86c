#!/bin/sh
# Kills one rank of the main job by SIGKILL, and resumes from the last checkpoint.
#   kill_and_resume.sh DIRECTORY RANKS PROGRAM LAUNCHER...
# The other ranks have to end within the stall limit with an error that names the one that was killed, and the resumed
# job with bitwise the weights of one that was not interrupted.
set -eu
directory=$1 ranks=$2 program=$3
shift 3
victim=$((ranks - 2)) limit=4
job="--scheme lookahead --delay 2 --epochs 2 --train-samples 16384 --test-samples 500 --batch 16 --learning-rate 0.05"
fail() {
  echo "$1" >&2
  cat "$directory"/*.txt >&2
  exit 1
}

rm -rf "$directory"
mkdir -p "$directory"
# shellcheck disable=SC2086  # a list of words, on purpose
"$@" -n "$ranks" "$program" $job --json "$directory/whole.json" >"$directory/whole.txt" 2>&1 || fail "did not run"

checkpoint="--checkpoint $directory/model --checkpoint-steps 7 --stall-limit $limit"
# shellcheck disable=SC2086
"$@" --enable-recovery --mca async_mpi_finalize 1 -n "$ranks" "$program" $job $checkpoint >"$directory/killed.txt" 2>&1 &
launcher=$!
# The second checkpoint, so that there is one before it, and training is under way.
until [ -e "$directory/model" ] && ! grep -q "^1 " "$directory/model"; do
  kill -0 "$launcher" || fail "ended before it was killed"
  sleep 0.05
done
pid=""
for process in /proc/[0-9]*; do
  if tr '\0' '\n' 2>/dev/null <"$process/cmdline" | grep -qx -- "$directory/model" &&
    tr '\0' '\n' 2>/dev/null <"$process/environ" | grep -qx "OMPI_COMM_WORLD_RANK=$victim"; then
    pid=${process#/proc/}
  fi
done
[ -n "$pid" ] || fail "there is no rank $victim"
kill -9 "$pid"
killed=$(date +%s)
wait "$launcher" || true  # some launchers that leave the other ranks alone return 0
seconds=$(($(date +%s) - killed))
[ "$seconds" -le $((limit + 10)) ] || fail "took $seconds s to notice"
rank=0
while [ "$rank" -lt "$ranks" ]; do
  if [ "$rank" -ne "$victim" ]; then
    grep -q "^rank $rank: syncopate: .*rank $victim" "$directory/killed.txt" || fail "rank $rank does not name rank $victim"
  fi
  rank=$((rank + 1))
done

# shellcheck disable=SC2086
"$@" -n "$ranks" "$program" $job $checkpoint --resume --json "$directory/resumed.json" \
  >"$directory/resumed.txt" 2>&1 || fail "did not resume"
sum_of() { sed -n 's/.*"weights_checksum": "\([0-9a-f]*\)".*/\1/p' "$1"; }
whole=$(sum_of "$directory/whole.json") resumed=$(sum_of "$directory/resumed.json")
[ -n "$whole" ] && [ "$whole" = "$resumed" ] || fail "weights are $resumed instead of $whole"
echo "killed after checkpoint $(tail -n 1 "$directory/model" | cut -d' ' -f1), noticed in $seconds s, resumed to bitwise the same weights, $whole"
