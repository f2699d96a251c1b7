#!/bin/bash
# Question: how long does an element take in kernels that are no products, on one core?
#
#   bazel run //bench/kernels [-- REPETITIONS]
#
# Builds bench/kernels/kernels.cc with the runtime as programs are built, and prints a line of JSON for each kernel and shape.
set -eu

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
g++ -O3 -march=native -fno-math-errno -std=c++17 -fopenmp -I. bench/kernels/kernels.cc runtime/device/cpu/{arena,workspace}.cc \
  runtime/error/{error,progress_line}.cc runtime/kernels/cpu/{attention,blocks,losses,reduce,rows}.cc runtime/random/random.cc \
  runtime/math/onednn/{engine,few_rows,matmul}.cc runtime/mesh/mesh.cc -ldnnl -lpthread -o "$folder/kernels"
OMP_NUM_THREADS=1 "$folder/kernels" "${1:-15}"
