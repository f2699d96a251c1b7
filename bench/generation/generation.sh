#!/bin/bash
# Question: how many tokens a second does a generated program read and write, beside transformers?
#
# Makes a random Llama with grouped heads (63 million parameters), imports it, and continues the same prompts greedily in turns: by programs whose steps have
# one place and several, and by `generate` of transformers with its key-value cache. Prints tokens a second of prompts and of what follows, and ratios.
#
#   PYTHON=python3 bazel run //bench/generation [-- REPETITIONS [THREADS]]     PYTHON has torch and transformers
set -eu

folder=$(mktemp -d "${TMPDIR:-/tmp}/generation.XXXXXX")
trap 'rm -rf "$folder"' EXIT

"${PYTHON:-python3}" bench/generation/generation.py "$PWD/tools/cleave" "$folder" "${1:-5}" "${2:-1}"
