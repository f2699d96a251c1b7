#!/bin/bash
# Question: how much of a step of a mixture of experts are its products, and how much is what brings tokens to experts and back?
#
# Compiles experts.model with EXPERTS... experts: rows that fit into the room of their experts, all rows, and one gated layer with as many products. Runs
# them in turn, then PyTorch, and prints the times of a step beside that of the gated layer.
#
#   PYTHON=python3 bazel run //bench/experts -- [EXPERTS...]     PYTHON has numpy, and torch: without it that column stays empty
set -eu

experts=("$@")
[ ${#experts[@]} -gt 0 ] || experts=(8 64 256)
python=${PYTHON:-python3}
folder=$(mktemp -d "${TMPDIR:-/tmp}/experts.XXXXXX")
trap 'rm -rf "$folder"' EXIT

"$python" bench/experts/experts.py prepare "$folder"

# build NAME SETTING...
build() {
  local out=$folder/$1
  shift
  tools/compile bench/experts/experts.model --launch local --quiet --out "$out" "${@/#/--set=}" \
    --set "data=npy(x = \"$folder/x.npy\", y = \"$folder/y.npy\")"
  make -s -C "$out" COMM=local > /dev/null
}

build plain plain=true
for count in "${experts[@]}"; do
  build "room_$count" "experts=$count"
  build "all_$count" "experts=$count" room=0
done
for repetition in 1 2 3; do
  for program in "$folder"/*/; do
    (cd "$program" && ./run.sh --launch local --quiet && grep -h seconds metrics.jsonl >> times.jsonl)
  done
done
"$python" bench/experts/experts.py compare "$folder" "${experts[@]}"
