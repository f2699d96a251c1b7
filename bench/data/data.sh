#!/bin/bash
# Question: how many samples does a core read in a second, beside PyTorch's DataLoader?
#
# Images in folders (256x256 JPEG to f32[3, 224, 224]) and windows of a file of tokens, by one thread each, in turns.
#
#   bazel run //bench/data [-- REPETITIONS [IMAGES]]     PYTHON=python3 in the environment, with torch, torchvision and Pillow
set -eu

repetitions=${1:-5}
images=${2:-3000}
folder=$(mktemp -d "${TMPDIR:-/tmp}/data.XXXXXX")
trap 'rm -rf "$folder"' EXIT

# As a generated program is compiled.
g++ -O3 -march=native -std=c++17 -fopenmp -I. bench/data/read.cc runtime/{data,device/cpu,digest,error,file,image,image/jpeg,image/png}/*.cc \
  runtime/{json,mesh,npy,progress,random,safetensors,tokenizer,utf8}/*.cc -ljpeg -lpng -lz -lpthread -o "$folder/read"
OMP_NUM_THREADS=1 "${PYTHON:-python3}" bench/data/data.py "$folder" "$repetitions" "$images"
