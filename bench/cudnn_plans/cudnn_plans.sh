#!/bin/bash
# Question: for which attention and which convolutions does cuDNN have plans, on GPUs that are not here, and what workspace
# do they take?
#
#   bazel run //bench/cudnn_plans [-- convolutions]   CUDA_HOME=/usr/local/cuda, PYTHON=python3 (whose pip has the two packages) in
#                                              the environment
#
# Needs the CUDA toolkit, and by pip nvidia-cudnn-cu13 and nvidia-cudnn-frontend, but neither a GPU nor a driver.
set -eu

cuda=${CUDA_HOME:-/usr/local/cuda}
packages=$("${PYTHON:-python3}" -c 'import nvidia; print(nvidia.__path__[0])')
cudnn=$packages/cudnn
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

# A driver: what driver.c has, and all other functions of the toolkit's own stub.
cp bench/cudnn_plans/driver.c "$folder/driver.c"
own=$(grep -o '^int cu[A-Za-z]*' bench/cudnn_plans/driver.c | cut -d' ' -f2)
nm -D --defined-only "$(find -L "$cuda" -path '*stubs/libcuda.so' | head -1)" | awk '$2 == "T" && $3 ~ /^cu/ { print $3 }' | sort -u |
  grep -v -x -F "$own" | sed 's/.*/int &(void) { return 0; }/' >>"$folder/driver.c"
gcc -shared -fPIC -Wl,-soname,libcuda.so.1 -o "$folder/libcuda.so.1" "$folder/driver.c"

g++ -std=c++20 -I. -I"$packages/../include" -I"$cudnn/include" -I"$cuda/include" "bench/cudnn_plans/${1:-attention}.cc" -o "$folder/plans" \
  "$cudnn"/lib/libcudnn.so.9 -L"$cuda/lib64" -lnvrtc -lcudart
LD_LIBRARY_PATH=$folder:$cudnn/lib:$cuda/lib64 "$folder/plans"
