#!/bin/bash
# Questions: how long from a model to a plan, to sources, and from `compile --run` to the end of the first step, with a cache of compiled runtimes and
# without? How many lines has the program?
#
# First, for each example on the ranks that it asks for, for GPT-2 of 1, 12 and 96 layers on 8 GPUs, and for the shape of GPT-3 with 12 and 96 layers on
# 8 and 1,024 GPUs, with memory enough and with far too little: seconds of processor time until the plan is printed or refused, the median of
# REPETITIONS. Then, for some examples and ways to start them: wall seconds and, in brackets, processor seconds of the compiler and of all that it starts, medians of
# REPETITIONS. Cold: an empty cache and an empty folder. Warm: the folder was built before, and the model has another learning rate.
#
#   bazel run //bench/compile_time [-- REPETITIONS [RANKS]]
set -eu

repetitions=${1:-5}
ranks=${2:-2}
compile=${CLEAVE_COMPILE:-$PWD/tools/compile} # CLEAVE_COMPILE: another compiler, to compare with.
root=$PWD
examples=$root/examples
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export XDG_CACHE_HOME=$folder/cache

# measure COMMAND...: "wall processor".
measure() {
  local TIMEFORMAT='%R %U %S'
  { time "$@" >"$folder/log" 2>&1; } 2>"$folder/time" || { cat "$folder/log" >&2; exit 1; }
  awk '{ print $1, $2 + $3 }' "$folder/time"
}
# Lines "wall processor" to "median (median)".
medians() {
  tee "$folder/all" | cut -d' ' -f1 | sort -g | awk '{ v[NR] = $1 } END { printf "%.2f ", v[int((NR + 1) / 2)] }'
  cut -d' ' -f2 "$folder/all" | sort -g | awk '{ v[NR] = $1 } END { printf "(%.2f)", v[int((NR + 1) / 2)] }'
}

# The processor time of planning a model, or of finding that no plan fits.
plan_or_refuse() { "$compile" "$@" --plan-only --quiet || [ $? -eq 4 ]; }
plan() {
  for _ in $(seq "$repetitions"); do measure plan_or_refuse "$@"; done | cut -d' ' -f2 | sort -g |
    awk '{ v[NR] = $1 } END { printf "%.2f", v[int((NR + 1) / 2)] }'
}

printf '%-40s %10s\n' model 'to plan, s'
for model in "$examples"/*/*.model; do printf '%-40s %10s\n' "${model#"$examples"/}" "$(plan "$model")"; done
for depth in 1 12 96; do
  printf '%-40s %10s\n' "gpt2.model, depth $depth" \
    "$(plan "$root/bench/gpu/gpt2.model" --devices 8 --target cuda --set "depth=$depth")"
done
gpt3=(--target cuda --set width=12288 --set heads=96 --set batch=1536 --set seq=2048)
for memory in 2000TiB 3GiB; do
  for depth in 12 96; do
    for hosts in 1 128; do
      printf '%-40s %10s\n' "GPT-3, $depth layers, $((8 * hosts)) GPUs, $memory" \
        "$(plan "$root/bench/gpu/gpt2.model" --cluster "h100x8*$hosts" "${gpt3[@]}" --set "devices=$((8 * hosts))" \
          --set "depth=$depth" --set "memory=$memory")"
    done
  done
done

sources() { rm -rf "$folder/out" && measure "$compile" "${model[@]}" --out "$folder/out" --quiet; }
first_step() { measure "$compile" "${model[@]}" --steps 1 --launch "$way" --out "$folder/out" --run; }
cold() { rm -rf "$folder/out" "$XDG_CACHE_HOME" && first_step; }
# $1: a number that no other repetition has.
warm() {
  sed -E "s/lr = [-0-9.e]+/lr = 0.0$((1000 + $1))/" "$examples/$name/$name.model" >"$edited"
  model[0]=$edited
  first_step
}

printf '%-10s %6s %7s %6s %16s %16s %16s\n' model ranks way lines 'sources, s' 'cold step, s' 'warm step, s'
for name in mnist_mlp mnist_cnn tiny_gpt; do
  cp -rL "$examples/$name" "$folder" && edited=$folder/$name/edited.model
  for way in mpirun local; do
    model=("$examples/$name/$name.model" --devices "$ranks")
    times=$(for _ in $(seq "$repetitions"); do sources; done | medians)
    lines=$(wc -l <"$folder/out/program.cc")
    times_cold=$(for _ in $(seq "$repetitions"); do cold; done | medians)
    times_warm=$(for i in $(seq "$repetitions"); do warm "$i"; done | medians)
    printf '%-10s %6s %7s %6s %16s %16s %16s\n' "$name" "$ranks" "$way" "$lines" "$times" "$times_cold" "$times_warm"
  done
done
