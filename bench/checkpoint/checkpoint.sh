#!/bin/bash
# Question: how long does it take to save and to read a checkpoint, how far is that from what the disk does, and how much longer is a step meanwhile?
#
# Saves and reads the state of a language model of MB megabytes by 1 and 2 ranks, beside dd, which writes as many bytes to the same disk and waits for
# it, and reads them; and beside Python's safetensors, where PYTHON has it. Then trains examples with checkpoints and prints the time of a step while
# one is being written and without. What is read was written before, so it is in memory.
#
#   bazel run //bench/checkpoint [-- REPETITIONS [MB [FOLDER]]]     PYTHON=python3 in the environment; FOLDER: where to write
set -eu

repetitions=${1:-3}
megabytes=${2:-1000}
folder=$(mktemp -d "${3:-${TMPDIR:-/tmp}}/checkpoint.XXXXXX")
trap 'rm -rf "$folder"' EXIT

g++ -O2 -march=native -std=c++17 -I. bench/checkpoint/state.cc runtime/{checkpoint,digest,error,file,json,mesh,safetensors,trace,utf8}/*.cc \
  runtime/device/cpu/*.cc -lpthread -o "$folder/state"
python3 bench/checkpoint/checkpoint.py "$PWD/tools/compile" "$folder" "$repetitions" "$megabytes" "${PYTHON:-python3}" \
  "$PWD/examples/mnist_mlp/mnist_mlp.model" "$PWD/examples/tiny_gpt/tiny_gpt.model"
