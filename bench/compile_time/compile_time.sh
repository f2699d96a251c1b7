#!/bin/bash
# Questions: how long from a model to a plan, to sources, to a binary, and from `compile --run` to the end of the first step, with a cache of compiled
# runtimes and without? How many lines has the program?
#
# For all examples on the ranks that they ask for, GPTs of 1, 12 and 96 layers, and LSTMs over 2 and 512 places. First, seconds of processor time until the
# plan is printed, or until it is found that none fits; for the shape of GPT-3 with 12 and 96 layers on 8 and 1,024 GPUs, with memory enough and with far
# too little. Then wall seconds and, in brackets, processor seconds of the compiler and of all that it starts. All are medians of REPETITIONS. Cold: an
# empty cache and an empty folder. Warm: the folder was built before, and the model is another one.
#
#   bazel run //bench/compile_time [-- REPETITIONS]
set -eu

repetitions=${1:-5}
compile=${CLEAVE_COMPILE:-$PWD/tools/compile} # CLEAVE_COMPILE: another compiler, to compare with.
examples=$PWD/examples
models=$(grep -lE '^model ' "$examples"/*/*.model) # Others are imported.
gpt=$examples/tiny_gpt/tiny_gpt.model
gpt2=$PWD/bench/gpu/gpt2.model
lstm=$examples/lstm/lstm.model
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

plan_or_refuse() { "$compile" "$@" --plan-only --quiet || [ $? -eq 4 ]; }
# to_plan LABEL ARGUMENTS...
to_plan() {
  printf '| %s | ' "$1"
  shift
  for _ in $(seq "$repetitions"); do measure plan_or_refuse "$@"; done | cut -d' ' -f2 | sort -g |
    awk '{ v[NR] = $1 } END { printf "%.2f |\n", v[int((NR + 1) / 2)] }'
}

printf '| model | to the plan, s |\n|---|---|\n'
for model in $models; do to_plan "\`${model#"$examples"/}\`" "$model"; done
for depth in 1 12 96; do
  to_plan "\`gpt2.model\`, depth $depth, 8 H100" "$gpt2" --devices 8 --target cuda --set "depth=$depth"
done
for seq in 2 512; do
  for ranks in 1 4; do to_plan "\`lstm\` over $seq places, $ranks ranks" "$lstm" --devices "$ranks" --set "seq=$seq"; done
done
gpt3=(--target cuda --set width=12288 --set heads=96 --set batch=1536 --set seq=2048)
for memory in 2000TiB 3GiB; do
  for depth in 12 96; do
    for hosts in 1 128; do
      to_plan "GPT-3, $depth layers, $((8 * hosts)) GPUs of $memory" "$gpt2" --cluster "h100x8*$hosts" "${gpt3[@]}" \
        --set "devices=$((8 * hosts))" --set "depth=$depth" --set "memory=$memory"
    done
  done
done

sources() { rm -rf "$folder/out" && measure "$compile" "$@" --out "$folder/out" --quiet; }
# $1: the way to launch, after which Makefiles call the transport.
build() { measure make -s -j2 -C "$folder/out" "COMM=${1/mpirun/mpi}"; }
first_step() { measure "$compile" "$@" --steps 1 --out "$folder/out" --run; }
cold() { rm -rf "$folder/out" "$XDG_CACHE_HOME" && first_step "$@"; }

# to_step LABEL WAY ARGUMENTS...
to_step() {
  local label=$1 way=$2 on_sources on_build on_cold on_warm lines
  shift 2
  set -- "$@" --launch "$way"
  on_sources=$(for _ in $(seq "$repetitions"); do sources "$@"; done | medians)
  lines=$(wc -l <"$folder/out/program.cc")
  on_cold=$(for _ in $(seq "$repetitions"); do cold "$@"; done | medians)
  on_build=$(for _ in $(seq "$repetitions"); do sources "$@" >"$folder/ignored" && build "$way"; done | medians)
  on_warm=$(for i in $(seq "$repetitions"); do first_step "$@" --set "seed=$((i + 1))"; done | medians)
  printf '| %s, %s | %s | %s | %s | %s | %s |\n' "$label" "$way" "$lines" "$on_sources" "$on_build" "$on_cold" "$on_warm"
}

printf '\n| model | lines | sources, s | build, warm, s | cold step, s | warm step, s |\n|---|---|---|---|---|---|\n'
to_step '`mnist_mlp`, 2 ranks' mpirun "$examples/mnist_mlp/mnist_mlp.model" --devices 2
for model in $models; do to_step "\`${model#"$examples"/}\`" local "$model"; done
for depth in 1 12 96; do
  to_step "\`tiny_gpt\` of depth $depth, 2 ranks" local "$gpt" --devices 2 --set "depth=$depth" --set batch=2
done
for seq in 2 512; do
  for ranks in 1 4; do
    to_step "\`lstm\` over $seq places, $ranks ranks" local "$lstm" --devices "$ranks" --set "seq=$seq" --set batch=4
  done
done
to_step 'GPT-2 of 124 million parameters, f32, 256 tokens' local "$gpt2" --set batch=1 --set seq=256 --set precision=f32
