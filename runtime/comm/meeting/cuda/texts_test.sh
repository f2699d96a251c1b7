#!/bin/bash
# Ranks that pass texts on, started one by one: by a scheduler and with numbers that they are given, with one that dies
# and one that never comes.
set -u
program=$1
scheduler=$2
source "$3"
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
failed=0

fail() {
  echo "FAILED: $1"
  cat "$folder"/rank.*
  failed=1
}

# Runs the program on $1 ranks with the arguments after it; expects the exit code $2 of all but one that is 9.
run() {
  local ranks=$1 expected=$2
  shift 2
  start_scheduler "$ranks"
  pids=
  for ((i = 0; i < ranks; ++i)); do
    CLEAVE_SCHEDULER=$address CLEAVE_WORKERS=$ranks CLEAVE_LOCAL_RANK=$i "$program" "$ranks" "$@" 2>"$folder/rank.$i" &
    pids="$pids $!"
  done
  for pid in $pids; do
    wait "$pid"
    code=$?
    [ $code = "$expected" ] || { [ $code = 9 ] && [ $# -gt 0 ]; } || fail "$ranks ranks $*: exit code $code"
  done
  wait
}

for ranks in 2 5; do run $ranks 0; done
run 4 6 2 7
grep -q 'rank 2' "$folder"/rank.* || fail "nobody names the rank that is gone"

# A port that was free a moment ago.
start_scheduler 1
kill "$pids"
wait "$pids" 2>/dev/null
port=${address##*:}
join() { RANK=$1 WORLD_SIZE=3 MASTER_ADDR=127.0.0.1 MASTER_PORT=$port CLEAVE_JOIN_TIMEOUT=$2 "$program" 3 2>"$folder/rank.$1"; }
pids=
for i in 2 0 1; do
  join $i 30 &
  pids="$pids $!"
done
for pid in $pids; do wait "$pid" || fail "3 ranks with numbers"; done

pids=
for i in 0 1; do
  join $i 1 &
  pids="$pids $!"
done
for pid in $pids; do
  wait "$pid"
  code=$?
  [ $code = 6 ] || fail "a rank that never comes: exit code $code"
done
grep -q 'rank 2' "$folder/rank.0" || fail "rank 0 does not name the rank that is missing"
exit $failed
