#!/bin/bash
# Question: how long from a model to the sources of a program for GPUs, how large are they, and how long does nvcc take for each
# architecture?
#
# For each example: seconds of the compiler (the proof included), lines and bytes of program.cu, and seconds of nvcc for
# program.cu alone for each of ARCHS. The last line is the runtime, which all share: all of its .cu files, compiled
# folder by folder as the Makefile does.
#
#   bazel run //bench/cuda_sources [-- ARCHS]        default: 80 90 100
set -eu

[ $# -gt 0 ] || set -- 80 90 100
compile=$PWD/tools/compile
root=$PWD
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
nvcc=$(command -v nvcc || echo "${CUDA_HOME:-/usr/local/cuda}/bin/nvcc")

now() { date +%s.%N; }
since() { awk -v a="$1" -v b="$(now)" 'BEGIN { printf "%.2f", b - a }'; }

# Seconds of nvcc for the named file in the current folder, for one architecture.
nvcc_seconds() {
  local start
  start=$(now)
  "$nvcc" -O3 -std=c++17 -lineinfo -Xcompiler -fopenmp "-arch=sm_$1" -I. -c -o "$folder/object.o" "$2" 2>"$folder/nvcc.log" ||
    { echo failed && return; }
  since "$start"
}

printf '%-40s %10s %7s %8s' example 'sources, s' lines bytes
printf ' %10s' "${@/#/sm_}"
printf '\n'
for model in "$root"/examples/*/*.model; do
  out=$folder/$(basename "$model" .model)
  start=$(now)
  if ! "$compile" "$model" --target cuda --out "$out" --quiet 2>"$folder/errors"; then
    printf '%-40s %s\n' "${model#"$root"/examples/}" "$(grep -m1 error "$folder/errors" || tail -1 "$folder/errors")"
    continue
  fi
  printf '%-40s %10s %7s %8s' "${model#"$root"/examples/}" "$(since "$start")" "$(wc -l <"$out/program.cu")" "$(wc -c <"$out/program.cu")"
  for arch in "$@"; do printf ' %10s' "$(cd "$out" && nvcc_seconds "$arch" program.cu)"; done
  printf '\n'
  last=$out
done

cd "$last"
printf '%-40s %10s %7s %8s' runtime '' "$(find runtime -name '*.cu*' -exec cat {} + | wc -l)" "$(find runtime -name '*.cu*' -exec cat {} + | wc -c)"
for arch in "$@"; do
  total=0
  while read -r sources; do
    printf '#include "%s"\n' "$sources"/*.cu >unit.cu
    total=$(awk -v a="$total" -v b="$(nvcc_seconds "$arch" unit.cu)" 'BEGIN { if (b == "failed" || a == "failed") print "failed"; else printf "%.2f", a + b }')
  done < <(find runtime -name '*.cu' -printf '%h\n' | sort -u)
  printf ' %10s' "$total"
done
printf '\n'
