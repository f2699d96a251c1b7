#!/bin/bash
# Question: does a model train within a limit of memory with the numbers that it has without one, and how much longer does a step take?
#
# Compiles examples for 1, 2 and 4 ranks without a limit and for 70, 50, 35 and 25 % of the memory that they need then, or, where that does not fit,
# for the least that does, with as many micro-batches and as much recomputation as the compiler chooses. Trains all programs of one model and number
# of ranks in turn for STEPS steps, REPETITIONS times, and prints for each the peak memory of a rank, predicted and measured, the time of a step as a
# multiple of that without a limit, predicted and measured (the median and the quartiles of the ratios of runs beside one another), and the largest
# relative difference of a loss.
#
#   bazel run //bench/limits [-- REPETITIONS [STEPS]]
set -eu

repetitions=${1:-9}
steps=${2:-12}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

echo '| model | ranks | limit | limit, MiB | predicted, MiB | measured, MiB | K | made again | step, predicted | step, measured | quartiles | losses differ by |'
echo '|---|---|---|---|---|---|---|---|---|---|---|---|'
python3 bench/limits/limits.py "$PWD/tools/compile" "$folder" "$repetitions" "$steps" \
  "$PWD/examples/tiny_gpt/tiny_gpt.model" "$PWD/examples/mnist_cnn/mnist_cnn.model"
