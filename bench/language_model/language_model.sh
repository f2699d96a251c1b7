#!/bin/bash
# Question: does a language model that is trained here become as good as in PyTorch, and does it then write such texts?
#
# Trains examples/tiny_gpt on the bytes of a text from the same start values and on the same samples: here on one rank and on two, and with PyTorch.
# Prints the losses of some steps and over samples of the last tenth of the text, which nobody trains on. Then a program that generates continues PROMPT.
#
#   PYTHON=python3 bazel run //bench/language_model -- TEXT [STEPS [PROMPT]]     PYTHON has torch, numpy and safetensors
set -eu

text=$(realpath "${BUILD_WORKING_DIRECTORY:-.}/${1:?TEXT is missing}" 2>/dev/null || realpath "$1")
steps=${2:-1500}
prompt=${3:-The }
folder=$(mktemp -d "${TMPDIR:-/tmp}/language_model.XXXXXX")
trap 'rm -rf "$folder"' EXIT

settings=(--set vocab=256 --set seq=64 --set batch=32 --set width=128 --set heads=4 --set depth=4)
model=$PWD/examples/tiny_gpt/tiny_gpt.model
python=${PYTHON:-python3}
share=$("$python" bench/language_model/language_model.py prepare "$folder" "$text" "$steps")
for ranks in 1 2; do
  tools/compile "$model" --devices $ranks --launch local --quiet --out "$folder/ranks_$ranks" "${settings[@]}" --set epochs=1 --set shuffle=false \
    --set log_every=100 --set "data=npy(tokens = \"$folder/tokens.npy\", next = \"$folder/next.npy\")" --set validation=$share \
    --set "params=\"$folder/begin.safetensors\""
  make -s -C "$folder/ranks_$ranks" COMM=local > /dev/null
  (cd "$folder/ranks_$ranks" && ./run.sh --launch local --steps "$steps" --eval-every "$steps" --checkpoint-every "$steps" > said.txt)
done
"$python" bench/language_model/language_model.py compare "$folder" "$steps"

tools/compile "$model" --mode generate --devices 1 --launch local --quiet --out "$folder/generate" "${settings[@]}" --set batch=1 \
  --set "data=tokens(\"$text\")"
make -s -C "$folder/generate" COMM=local > /dev/null
echo
(cd "$folder/generate" && ./run.sh --launch local --quiet --params ../ranks_2/checkpoints --prompt "$prompt" --temperature 0.7 --samples 3)
