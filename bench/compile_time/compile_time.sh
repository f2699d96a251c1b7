#!/bin/bash
# Question: how long does a compile take, from model to plan, to sources, and to a running binary?
#
# For each example with the number of ranks that it names, and for GPT-2 with 1, 12 (as it is) and 96 layers on 8 GPUs: seconds of processor time
# until the plan is printed (median of REPETITIONS). For some examples and number of ranks: seconds of the compiler alone (median of REPETITIONS), and of compiler and `make` into an empty folder.
#
#   bazel run //bench/compile_time [-- REPETITIONS]
set -eu

repetitions=${1:-5}
compile=$PWD/tools/compile
root=$PWD
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

now() { date +%s.%N; }
median() { sort -g | awk '{ v[NR] = $1 } END { printf "%.3f", v[int((NR + 1) / 2)] }'; }

# Seconds of processor time to plan a model.
plan() {
  : >"$folder/times"
  for _ in $(seq "$repetitions"); do
    (TIMEFORMAT='%U'; time "$compile" "$@" --plan-only --quiet) 2>&1 | tail -n 1 >>"$folder/times"
  done
  median <"$folder/times"
}

printf '%-50s %18s\n' model 'to plan, s'
for model in "$root"/examples/*/*.model; do
  printf '%-50s %18s\n' "${model#"$root"/examples/}" "$(plan "$model")"
done
for depth in 1 12 96; do
  printf '%-50s %18s\n' "gpt2.model, depth $depth" \
    "$(plan "$root/bench/gpu/gpt2.model" --devices 8 --target cuda --set "depth=$depth")"
done

printf '%-12s %6s %18s %18s\n' model ranks 'to sources, s' 'to binary, s'
for name in mnist_mlp sapp_mlp tiny_gpt; do
  for ranks in 1 8; do
    model=$root/examples/$name/$name.model
    : >"$folder/times"
    for _ in $(seq "$repetitions"); do
      rm -rf "$folder/out"
      start=$(now)
      "$compile" "$model" --devices "$ranks" --out "$folder/out" --quiet
      awk -v a="$start" -v b="$(now)" 'BEGIN { print b - a }' >>"$folder/times"
    done
    start=$(now)
    rm -rf "$folder/out"
    "$compile" "$model" --devices "$ranks" --out "$folder/out" --quiet
    make -s -C "$folder/out" >/dev/null
    total=$(awk -v a="$start" -v b="$(now)" 'BEGIN { printf "%.2f", b - a }')
    printf '%-12s %6s %18s %18s\n' "$name" "$ranks" "$(median <"$folder/times")" "$total"
  done
done
