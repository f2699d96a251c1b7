#!/bin/bash
# Question: how much longer does a step take than its matrix products, convolutions and attention alone?
#
#   bazel run //bench/step_time:products [-- REPETITIONS [STEPS [THREADS]]]
set -eu

exec python3 bench/step_time/products.py tools/compile examples/mnist_cnn/mnist_cnn.model examples/tiny_gpt/tiny_gpt.model "$@"
