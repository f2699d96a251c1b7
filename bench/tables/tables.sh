#!/bin/bash
# Question: what do gradients by rows save where a model has many tables, in time, messages and memory?
#
# Trains dlrm.model, which has 26 tables, on 1 and 2 ranks with whole gradients and by rows, in turn, and prints for each the median step, what a rank
# sends in a step and needs of memory, and the ratios. The losses of the last steps must agree to 1e-4.
#
#   bazel run //bench/tables [-- REPETITIONS [STEPS]]
set -eu

repetitions=${1:-5}
steps=${2:-30}
compile=$PWD/tools/compile
model=$PWD/bench/tables/dlrm.model
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export OMP_NUM_THREADS=1

# A number of run.json of rank 0, or of the whole run.
number() { sed -n "s/.*\"$1\": *\({\"0\":\)\{0,1\}\([0-9.e-]*\).*/\2/p" "$2/run.json"; }

printf '%-6s %-8s %12s %14s %12s\n' ranks gradient 'median ms' 'sent MB/step' 'memory MB'
for ranks in 1 2; do
  for rows in none all; do
    "$compile" "$model" --devices "$ranks" --search data_parallel --set row_updates=$rows --out "$folder/$ranks$rows" --quiet
    make -s -C "$folder/$ranks$rows" >"$folder/make.log" 2>&1 || { cat "$folder/make.log" >&2; exit 1; }
  done
  for _ in $(seq "$repetitions"); do
    for rows in none all; do
      out=$folder/$ranks$rows
      (cd "$out" && ./run.sh --steps "$steps" --quiet >/dev/null)
      number median_step_seconds "$out" >>"$out/seconds"
    done
  done
  for rows in none all; do
    out=$folder/$ranks$rows
    seconds=$(sort -g "$out/seconds" | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }')
    echo "$seconds $(number sent_bytes "$out") $(number peak_memory_bytes "$out")" |
      awk -v r="$ranks" -v g="$rows" -v s="$steps" '{ printf "%-6s %-8s %12.2f %14.2f %12.1f\n", r, g, $1 * 1e3, $2 / s / 1e6, $3 / 1e6 }'
    sed -n 's/.*"loss":\([0-9.e-]*\).*/\1/p' "$out/metrics.jsonl" | tail -1 >"$out/loss"
  done
  paste "$folder/${ranks}none/loss" "$folder/${ranks}all/loss" |
    awk '{ d = $1 - $2; if (d < 0) d = -d; if (d > 1e-4 * $1) { print "the losses differ: " $1 " and " $2; exit 1 } }'
done
