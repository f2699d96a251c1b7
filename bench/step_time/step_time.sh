#!/bin/bash
# Question: how much slower is a generated program than one written by hand for the same step?
#
# Trains examples/mnist_mlp (batch 256, momentum) on 1 and 2 ranks with the generated program and with bench/handwritten, in turn, and prints
# for each the median and the least step time over the repetitions, and the ratio of the two.
#
#   bazel run //bench/step_time [-- REPETITIONS [STEPS]]
set -eu

repetitions=${1:-5}
steps=${2:-400}
compile=$PWD/tools/compile
handwritten=$PWD/bench/handwritten/mnist_mlp
model=$PWD/examples/mnist_mlp/mnist_mlp.model
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1

# The median step of one run, in milliseconds, from the program's JSON.
milliseconds() { sed -n 's/.*"median_step_seconds": *\([0-9.e-]*\).*/\1/p' | awk '{ print $1 * 1000 }'; }

# median and minimum of the numbers on standard input
summary() { sort -g | awk '{ v[NR] = $1 } END { printf "%.3f %.3f", v[int((NR + 1) / 2)], v[1] }'; }

printf '%-6s %-24s %12s %12s\n' ranks program 'median ms' 'least ms'
for ranks in 1 2; do
  out=$folder/$ranks
  "$compile" "$model" --devices "$ranks" --out "$out" --quiet
  make -s -C "$out" >"$folder/make.log" 2>&1 || { cat "$folder/make.log" >&2; exit 1; }
  threads=$(($(nproc) / ranks))
  [ "$threads" -ge 1 ] || threads=1
  : >"$folder/generated"
  : >"$folder/written"
  for _ in $(seq "$repetitions"); do
    (cd "$out" && ./run.sh --steps "$steps" --quiet >/dev/null)
    milliseconds <"$out/run.json" >>"$folder/generated"
    OMP_NUM_THREADS=$threads mpirun --quiet --bind-to none -n "$ranks" "$handwritten" "$steps" |
      milliseconds >>"$folder/written"
  done
  read -r median_generated least_generated <<<"$(summary <"$folder/generated")"
  read -r median_written least_written <<<"$(summary <"$folder/written")"
  printf '%-6s %-24s %12s %12s\n' "$ranks" 'generated' "$median_generated" "$least_generated"
  printf '%-6s %-24s %12s %12s\n' "$ranks" 'handwritten, oneDNN+MPI' "$median_written" "$least_written"
  awk -v r="$ranks" -v a="$median_generated" -v b="$median_written" -v c="$least_generated" -v d="$least_written" \
    'BEGIN { printf "%-6s %-24s %12.2f %12.2f\n", r, "ratio", a / b, c / d }'
done
