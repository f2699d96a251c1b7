#!/bin/bash
# Writes everything that bench/gpu/run.sh needs on a machine with a GPU but without Bazel and this compiler: CUDA
# programs, the runtime, tests of its kernels, and the losses of the CPU target.
#
#   ./bazelw run //bench/gpu:prepare [-- FOLDER]      default: bench/gpu/programs
set -eu

compile=$PWD/tools/compile
sources=$PWD/runtime
workspace=${BUILD_WORKSPACE_DIRECTORY:?start it with: ./bazelw run //bench/gpu:prepare}
cd "$BUILD_WORKING_DIRECTORY"
folder=$(realpath -m "${1:-$workspace/bench/gpu/programs}")
examples=$workspace/examples
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
rm -rf "$folder"
mkdir -p "$folder/expected" "$folder/tests"

# generate NAME MODEL [options of compile]: NAME.cu.
generate() {
  local name=$1 model=$2
  shift 2
  "$compile" "$model" --target cuda --out "$scratch/$name" --quiet "$@"
  cp "$scratch/$name/program.cu" "$folder/$name.cu"
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

# All programs and tests share one copy of the runtime. No program here reads the files of MNIST, which needs zlib,
# images, which needs libjpeg and libpng, or a tokenizer.json, which needs PCRE2.
cp -rL "$sources" "$folder"
rm -r "$folder"/runtime/{comm/host,device/cpu,einsum/cpu,kernels/cpu,math/onednn} "$folder"/runtime/data/{gzip,idx,image_file,image_folders,mnist}.cc
rm "$folder"/runtime/image/{jpeg,png}/*.cc "$folder"/runtime/tokenizer/{bpe,pcre2}/*.cc

for name in mnist_mlp mnist_cnn tiny_gpt; do
  expect "$name" "$examples/$name/$name.model"
  for ranks in 1 2 4 8; do
    generate "${name}_$ranks" "$examples/$name/$name.model" --devices "$ranks"
  done
done
cp "$examples/tiny_gpt/fables.txt" "$folder"

# The Makefile of one program, with every folder of sources, builds each: `make MAIN=NAME.cu PROGRAM=NAME`.
folders=$(cd "$folder" && find runtime -name '*.c[cu]' -printf '%h ' | tr ' ' '\n' | sort -u | tr '\n' ' ')
sed "/^FOLDERS =/,/[^\\]\$/c FOLDERS =$folders" "$scratch/mnist_mlp_1/Makefile" >"$folder/Makefile"

generate sanitize_gpt "$workspace/bench/gpu/small_gpt.model"
generate sanitize_cnn "$examples/mnist_cnn/mnist_cnn.model" --devices 1 --set batch=8 --set 'data=synthetic(train = 32)'
for precision in f32 tf32 bf16; do
  generate "speed_mlp_8192_$precision" "$examples/mnist_mlp/mnist_mlp.model" --devices 1 --set batch=8192 \
    --set 'data=synthetic(train = 65536)' --set epochs=100 --set "precision=$precision"
done
for batch in 8 16 32; do
  generate "speed_gpt2_${batch}_bf16" "$workspace/bench/gpu/gpt2.model" --set "batch=$batch" --set epochs=100
done

# The tests of device code, which hold their tensors in device memory, and the library with which they are written. Of
# the stand-in's own tests, only those of what a GPU does too.
cd "$workspace"
grep -lr --include='*_test.c[cu]' -e 'runtime/device/device_vector.h' -e 'runtime/kernels/testing.h' runtime tests/stand_in |
  grep -v stand_in/guard_test | while read -r test; do
  name=${test#*/}
  name=${name%.*}
  cp "$test" "$folder/tests/${name//\//_}.cu"
done
cp runtime/device/device_vector.h "$folder/runtime/device"
cp runtime/kernels/testing.h "$folder/runtime/kernels"
cp runtime/math/testing.h "$folder/runtime/math"
googletest=${GOOGLETEST:-/usr/src/googletest/googletest}
if [ -d "$googletest" ]; then
  mkdir "$folder/googletest"
  cp -r "$googletest/include" "$googletest/src" "$folder/googletest"
else
  echo "prepare.sh: no sources of GoogleTest in $googletest: the tests of kernels will not be built" >&2
fi
cp "$workspace"/bench/gpu/{run.sh,losses.py,table.py,torch_step.py} "$folder"
echo "written to $folder: copy it to the machine with the GPU and start ./run.sh there"
