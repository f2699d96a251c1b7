#!/bin/bash
# Question: which plan does a large language model get on clusters of GPUs: how many micro-batches, how much is made again in the backward pass, which
# level of ZeRO, how are tensors cut, what memory and time is predicted, and how long does it take to find?
#
# The models are bench/gpu/gpt2.model in shapes that are published: those of LLaMA (7B, 13B, 70B, 405B), GPT-3 (175B) and Megatron-LM's of 1T
# parameters, all with the feed-forward of GPT and, of 1T, heads of 128 elements. Nothing runs: the numbers are those of plan.json and --plan-only.
#
#   bazel run //bench/memory [-- PATTERN]      # The rows whose text has PATTERN: "70B", "b200".
set -eu

pattern=${1:-}
compile=${CLEAVE_COMPILE:-$PWD/tools/compile} # CLEAVE_COMPILE: another compiler, to compare with.
model=$PWD/bench/gpu/gpt2.model
row=$PWD/bench/memory/row.py
limit=${CLEAVE_SECONDS:-600} # Processor seconds after which a row is given up.
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

# plan LABEL WIDTH HEADS DEPTH SEQ BATCH VOCAB MACHINE HOSTS
plan() {
  [[ "$1, $((8 * $9)) of $8" == *"$pattern"* ]] || return 0
  rm -rf "$folder/out"
  python3 "$row" "$compile" "$model" "$folder/out" "$1" "$8" "${@:2:6}" "$9" "$limit"
}

echo '| model, GPUs | K | made again | zero | batch x sequence x width | memory, GiB | step, s | utilisation | planning, s | wall, s |'
echo '|---|---|---|---|---|---|---|---|---|---|'
plan 7B 4096 32 32 4096 1024 32000 h100x8 1
plan 7B 4096 32 32 4096 1024 32000 a100x8 8
plan 7B 4096 32 32 4096 1024 32000 h100x8 16
plan 13B 5120 40 40 4096 1024 32000 h100x8 1
plan 13B 5120 40 40 4096 1024 32000 a100x8 8
plan 70B 8192 64 80 4096 1024 32000 b200x8 8
plan 70B 8192 64 80 4096 1024 32000 h100x8 16
plan 70B 8192 64 80 4096 1024 32000 a100x8 32
plan 175B 12288 96 96 2048 1536 50304 b200x8 64
plan 175B 12288 96 96 2048 1536 50304 h100x8 128
plan 175B 12288 96 96 2048 1536 50304 a100x8 128
plan 405B 16384 128 126 8192 2048 128256 b200x8 256
plan 405B 16384 128 126 8192 2048 128256 h100x8 512
plan 1T 25600 200 128 2048 3072 51200 a100x8 384
plan 1T 25600 200 128 2048 3072 51200 h100x8 512
