#!/bin/bash
# Question: is attention as one piece on the CPU as fast as its ops one by one, at every length, and how far from PyTorch's?
#
#   bazel run //bench/attention [-- REPETITIONS [SECONDS [LENGTH...]]]     PYTHON=python3, OMP_NUM_THREADS=1 in the environment
#
# Builds bench/attention/attention.cc with the runtime as programs are built, and prints a table of processor times.
set -eu

repetitions=${1:-5}
seconds=${2:-0.1}
shift $(($# < 2 ? $# : 2))
[ $# -gt 0 ] || set -- 64 80 128 256 512 1024 2048 4096
export OMP_NUM_THREADS=${OMP_NUM_THREADS:-1}
python=${PYTHON:-python3}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

g++ -O3 -march=native -fno-math-errno -std=c++17 -fopenmp -I. bench/attention/attention.cc runtime/device/cpu/{arena,workspace}.cc runtime/error/{error,progress_line}.cc \
  runtime/kernels/cpu/{attention,blocks,dropout,movement,reduce,rows}.cc runtime/random/random.cc runtime/math/onednn/{engine,few_rows,matmul}.cc \
  runtime/mesh/mesh.cc -ldnnl -lpthread -o "$folder/attention"
"$folder/attention" "$repetitions" "$seconds" "$@" >"$folder/here.json"
if "$python" -c 'import torch' 2>/dev/null; then
  "$python" bench/attention/torch_attention.py "$repetitions" "$seconds" "$@" >"$folder/torch.json"
else
  echo "attention: $python has no PyTorch, so its times are left out" >&2
  : >"$folder/torch.json"
fi
"$python" bench/attention/table.py "$folder/here.json" "$folder/torch.json"
