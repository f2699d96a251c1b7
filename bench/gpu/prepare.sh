#!/bin/bash
# Writes everything that bench/gpu/run.py needs on a machine with a GPU but without Bazel and this compiler: programs
# for GPUs, built for Hopper (sm_90) where nvcc is here, and with their sources; the runtime and the tests of its
# kernels; the losses of the CPU target; and what the compiler predicts.
#
#   ./bazelw run //bench/gpu:prepare [-- FOLDER]      default: bench/gpu/programs
#
# ARCHS=90 in the environment: what is built, nothing where it is empty. CUDNN_FRONTEND_HOME: a folder whose include/ has
# cudnn-frontend, if python3 does not find it (pip install nvidia-cudnn-frontend).
set -eu

compile=$PWD/tools/compile
cleave=$PWD/tools/cleave
sources=$PWD/runtime
stand_in=$PWD/tests/stand_in
workspace=${BUILD_WORKSPACE_DIRECTORY:?start it with: ./bazelw run //bench/gpu:prepare}
cd "$BUILD_WORKING_DIRECTORY"
folder=$(realpath -m "${1:-$workspace/bench/gpu/programs}")
examples=$workspace/examples
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
rm -rf "$folder"
mkdir -p "$folder/expected" "$folder/predicted" "$folder/tests"

# generate NAME MODEL [options of compile]: NAME.cu, and predicted/NAME.json.
generate() {
  local name=$1 model=$2
  shift 2
  "$compile" "$model" --target cuda --out "$scratch/$name" --quiet "$@"
  cp "$scratch/$name/program.cu" "$folder/$name.cu"
  python3 -c 'import json, sys; json.dump(json.load(open(sys.argv[1]))["predicted"], open(sys.argv[2], "w"))' \
    "$scratch/$name/plan.json" "$folder/predicted/$name.json"
  echo "$name"
}

# expect NAME MODEL [options of compile]: the losses of the CPU target's program on one rank.
expect() {
  local name=$1 model=$2
  shift 2
  "$compile" "$model" --devices 1 --out "$scratch/cpu_$name" --quiet "$@"
  make -s -C "$scratch/cpu_$name" COMM=local
  (cd "$scratch/cpu_$name" && ./program_local --steps 20 --quiet)
  cp "$scratch/cpu_$name/metrics.jsonl" "$folder/expected/$name.jsonl"
  echo "expected/$name.jsonl"
}

# speed WHERE MODEL BATCH PRECISION [options of compile]: a program whose steps are timed, on a GPU or with the stand-in,
# a line of speed.tsv, and what each of its kernels is predicted to take on two kinds of GPUs.
speed() {
  local where=$1 model=$2 batch=$3 precision=$4 file settings=() sizes=() size
  local name="${where}_${model}_${batch}_$precision"
  shift 4
  settings=(--devices 1 --set "batch=$batch" --set "precision=$precision" --set epochs=1000)
  if [ "$model" = mlp ]; then
    file=$examples/mnist_mlp/mnist_mlp.model
    settings+=(--set 'data=synthetic(train = 65536)')
  else
    file=$workspace/bench/gpu/gpt2.model
    for size in "$@"; do settings+=(--set "$size") && sizes+=("${size#*=}"); done
  fi
  generate "$name" "$file" "${settings[@]}"
  for cluster in h100x8 h200x8; do
    "$cleave" explain "$file" kernels --target cuda --cluster "$cluster" --quiet "${settings[@]}" \
      >"$folder/predicted/$name.$cluster.jsonl"
  done
  (IFS=: && printf '%s\t%s\n' "$name" "$model:$batch:$precision::${sizes[*]}") >>"$folder/speed.tsv"
}

# All programs and tests share one copy of the runtime. No program here reads the files of MNIST, which needs zlib,
# images, which needs libjpeg and libpng, or a tokenizer.json, which needs PCRE2 and without which there is no chat.
cp -rL "$sources" "$folder"
chmod -R u+w "$folder"
rm -r "$folder"/runtime/{comm/gloo,comm/host,device/cpu,einsum/cpu,kernels/cpu,math/onednn,measure}
rm "$folder"/runtime/data/{gzip,idx,image_file,image_folders,mnist}.cc
rm "$folder"/runtime/image/{jpeg,png}/*.cc "$folder"/runtime/tokenizer/{bpe,pcre2}/*.cc "$folder"/runtime/chat/*.cc
cp -rL "$stand_in" "$folder"

for name in mnist_mlp mnist_cnn tiny_gpt; do
  expect "$name" "$examples/$name/$name.model"
  for ranks in 1 2 8; do
    generate "${name}_$ranks" "$examples/$name/$name.model" --devices "$ranks"
  done
done
cp "$examples/tiny_gpt/fables.txt" "$folder"
small_gpt2=(--set depth=2 --set width=128 --set heads=2 --set seq=64 --set vocab=256 --set 'data=synthetic(train = 32)')
expect small_gpt2 "$workspace/bench/gpu/gpt2.model" "${small_gpt2[@]}"
for ranks in 1 2; do
  generate "small_gpt2_$ranks" "$workspace/bench/gpu/gpt2.model" "${small_gpt2[@]}" --devices "$ranks"
done

# The Makefile of one program, with every folder of sources, builds each: `make MAIN=NAME.cu PROGRAM=bin/NAME`.
folders=$(cd "$folder" && find runtime -name '*.c[cu]' -printf '%h ' | tr ' ' '\n' | sort -u | tr '\n' ' ')
sed "/^FOLDERS =/,/[^\\]\$/c FOLDERS =$folders" "$scratch/mnist_mlp_1/Makefile" >"$folder/Makefile"

generate sanitize_gpt "$workspace/bench/gpu/small_gpt.model"
generate sanitize_cnn "$examples/mnist_cnn/mnist_cnn.model" --devices 1 --set batch=8 --set 'data=synthetic(train = 32)'
gpt2=(seq=1024 vocab=50304 width=768 heads=12 depth=12)
speed gpu gpt2 8 bf16 "${gpt2[@]}"
speed gpu gpt2 32 bf16 "${gpt2[@]}"
for precision in bf16 tf32 f32; do speed gpu mlp 8192 "$precision"; done
speed stand_in gpt2 2 bf16 seq=16 vocab=64 width=32 heads=2 depth=2

# The tests of code for the device, which hold their tensors in device memory, and the headers with which they are
# written.
cd "$workspace"
grep -lr --include='*_test.c[cu]' -e 'runtime/device/device_vector.h' -e 'runtime/kernels/.*testing.h' runtime |
  grep -v /cpu/ | while read -r test; do
  name=${test#*/}
  cp "$test" "$folder/tests/${name//\//_}"
done
for header in runtime/device/device_vector.h runtime/kernels/{attention_,}testing.h runtime/math/testing.h; do
  cp "$header" "$folder/$header"
done
googletest=${GOOGLETEST:-/usr/src/googletest/googletest}
if [ -d "$googletest" ]; then
  mkdir "$folder/googletest"
  cp -r "$googletest/include" "$googletest/src" "$folder/googletest"
else
  echo "prepare.sh: no sources of GoogleTest in $googletest: the tests of kernels will not be built" >&2
fi
frontend=${CUDNN_FRONTEND_HOME:-$(python3 -c 'import glob, os, sys
print(next((os.path.dirname(f) for p in sys.path[1:] for f in glob.glob(p + "/include")
            if os.path.exists(f + "/cudnn_frontend_version.h")), ""))')}
if [ -n "$frontend" ]; then
  mkdir -p "$folder/cudnn_frontend/include"
  cp -rL "$frontend"/include/cudnn_* "$folder/cudnn_frontend/include"
else
  echo "prepare.sh: no cudnn-frontend: attention will be computed by the runtime's own kernels only" >&2
fi
cp "$workspace"/bench/gpu/*.py "$workspace"/bench/gpu/{attention,ceilings}.cu "$folder"
cd "$folder"
if [ -n "${ARCHS-90}" ] && { command -v nvcc || [ -x /usr/local/cuda/bin/nvcc ]; } >/dev/null; then
  python3 programs.py "${ARCHS-90}"
  rm -rf bin build build_own logs starter scheduler
else
  echo "prepare.sh: nothing is built here: run.py will build everything where it runs" >&2
fi
echo "written to $folder ($(du -sh . | cut -f1)): copy it to the machine with the GPU and start ./run.py there"
