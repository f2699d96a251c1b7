#!/bin/bash
# Question: how long does a step take beside PyTorch's, as it is and compiled, on a CPU?
#
#   bazel run //bench/step_time:pytorch [-- REPETITIONS [STEPS [THREADS [MODEL...]]]]
#
# PYTHON is a python3 with PyTorch; else PyTorch is installed from PyPI, once, into a folder of its own.
set -eu

if [ -z "${PYTHON:-}" ]; then
  folder=${XDG_CACHE_HOME:-$HOME/.cache}/cleave/bench/pytorch
  PYTHON=$folder/bin/python
  if ! "$PYTHON" -c 'import torch' 2>/dev/null; then
    python3 -m venv "$folder"
    "$folder/bin/pip" install --quiet torch numpy --index-url https://download.pytorch.org/whl/cpu ||
      "$folder/bin/pip" install --quiet torch numpy
  fi
fi
exec python3 bench/step_time/pytorch.py tools/compile "$PYTHON" examples "$@"
