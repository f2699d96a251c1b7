#!/bin/bash
# Question: does ptxas make of the kernels what their source claims: vectors, tensor cores, nothing spilled?
#
#   ./bazelw run //bench/machine_code [-- ARCHITECTURE]      default: 90
#
# Builds the runtime and some programs as their Makefiles do, and reads their machine code. Needs nvcc, and cuobjdump
# (pip install nvidia-cuda-cuobjdump nvidia-cuda-nvdisasm).
set -eu

compile=$PWD/tools/compile
read_code=$PWD/bench/machine_code/machine_code.py
workspace=${BUILD_WORKSPACE_DIRECTORY:?start it with: ./bazelw run //bench/machine_code}
examples=$workspace/examples
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
# Where pip has put the tools.
for tools in $(python3 -c 'import glob, sys; print(*(f for p in sys.path[1:] for f in glob.glob(p + "/nvidia/*/bin")))'); do
  PATH=$PATH:$tools
done

# build NAME MODEL [options of compile]
build() {
  local name=$1 model=$2
  shift 2
  "$compile" "$model" --target cuda --devices 1 --out "$folder/$name" --quiet "$@"
  make -C "$folder/$name" COMM=local ARCHS="$architecture" >"$folder/$name.log" 2>&1 || {
    tail -20 "$folder/$name.log" >&2
    exit 1
  }
}

architecture=${1:-90}
build gpt2 "$workspace/bench/gpu/gpt2.model"
build mnist_cnn "$examples/mnist_cnn/mnist_cnn.model"
build moe "$examples/moe/moe.model" --set precision=bf16
build llama "$examples/llama/llama.model" --set precision=bf16
python3 "$read_code" "$folder"/{gpt2,mnist_cnn,moe,llama}/program_local
