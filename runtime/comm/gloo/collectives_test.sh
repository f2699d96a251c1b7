#!/bin/bash
# Runs the collectives' tests on up to 8 ranks, started one by one, with a scheduler that numbers them and with numbers
# that they are given, and the test of equal bits on some.
set -u
program=$1
same_bits=$2
scheduler=$3
source "$4"
export OMP_NUM_THREADS=1 CLEAVE_JOIN_TIMEOUT=30 CLEAVE_GAINS_BY_THREAD=1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
failed=0

# Waits for processes; all must end well.
expect_done() { for pid in "$@"; do wait "$pid" || failed=1; done; }

# Runs $2 on $1 ranks with the arguments after these.
run() {
  local ranks=$1 program=$2
  shift 2
  echo "== $ranks ranks: $(basename "$program")"
  start_scheduler "$ranks"
  for ((i = 0; i < ranks; ++i)); do
    CLEAVE_SCHEDULER=$address CLEAVE_WORKERS=$ranks CLEAVE_LOCAL_RANK=$i "$program" --gtest_brief=1 "$@" &
    pids="$pids $!"
  done
  expect_done $pids
}

# Many ranks take long: there only floats are sent, not the other four types. So are they where ranks join in another way.
only_floats=--gtest_filter=-*/1.*:*/2.*:*/3.*:*/4.*
for ranks in 2 3 4; do run "$ranks" "$program"; done
for ranks in 6 8; do run "$ranks" "$program" "$only_floats"; done
for ranks in 2 6 8; do run "$ranks" "$same_bits"; done

# A port that was free a moment ago.
start_scheduler 1
kill "$pids"
wait "$pids" 2>/dev/null
port=${address##*:}
echo "== 4 ranks with numbers"
pids=
for i in 3 1 0 2; do
  RANK=$i WORLD_SIZE=4 LOCAL_RANK=$i MASTER_ADDR=127.0.0.1 MASTER_PORT=$port "$program" --gtest_brief=1 "$only_floats" &
  pids="$pids $!"
done
expect_done $pids
"$program" --gtest_brief=1 || failed=1  # Alone.
exit $failed
