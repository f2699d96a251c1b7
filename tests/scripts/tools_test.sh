#!/bin/bash
# The commands of tools/README.md, from any folder.
set -u

data=$PWD
. tests/scripts/expect.sh

# Expects the command to see that nothing of what it prints is kept.
expect_full() {
  "$@" >/dev/full 2>output </dev/null
  local exit_code=$?
  [ "$exit_code" = 5 ] || fail "$* exits with $exit_code on a full disk, not 5"
  expect_output "cannot write to standard output"
}

mkdir -p "$TEST_TMPDIR/elsewhere"
cd "$TEST_TMPDIR/elsewhere" || exit 1
tools=$data/tools
model=$data/examples/tiny_gpt/tiny_gpt.model

expect_exit 0 "$tools/compile" --help
"$tools/compile" "$model" --devices 4 --emit plan >four.json || fail "no plan for 4 devices"
"$tools/compile" "$model" --devices 4 --search data_parallel --set zero=1 --emit plan >zero.json || fail "no other plan"

expect_exit 0 "$tools/diff" four.json four.json
expect_output "the plans are equal"
expect_exit 1 "$tools/diff" four.json zero.json
expect_output "memory peak"
expect_exit 1 "$tools/diff" four.json zero.json --json
expect_output '"equal": false'
expect_exit 2 "$tools/diff" four.json
expect_exit 3 "$tools/diff" four.json "$model"

expect_exit 1 "$tools/diff" <(cat four.json) <(cat zero.json)
expect_exit 3 "$tools/diff" four.json /dev/zero
expect_output "is a device, not a plan file"

mkdir removed
(cd removed && rmdir ../removed && "$tools/compile" --help) >output 2>&1
[ $? = 5 ] || fail "compile starts in a folder that was removed"

expect_full "$tools/compile" --help
expect_full "$tools/compile" "$model" --plan-only
expect_full "$tools/compile" "$model" --plan-only --log reshard --quiet
for stage in ast graph plan program source; do expect_full "$tools/compile" "$model" --emit $stage; done
expect_full "$tools/diff" --help
expect_full "$tools/diff" four.json zero.json
expect_full "$tools/explain"
expect_exit 0 "$tools/compile" "$model" --plan-only --plan <(cat four.json)

expect_exit 0 "$tools/explain" E0304
expect_output "# E0304: "
expect_exit 0 "$tools/explain" e0304
expect_output "# E0304: "
expect_exit 0 "$tools/explain"
expect_output "W0601: "
expect_exit 2 "$tools/explain" E0300
expect_output "did you mean"

expect_exit 0 "$tools/compile" "$model" --devices 1024 --plan-only
expect_output "not proven by simulation: --plan-only"
expect_output "memory    "
expect_exit 0 "$tools/compile" "$model" --devices 4 --plan-only --explain
expect_output "under the price time"
expect_exit 0 "$tools/compile" "$model" --devices 4 --plan-only --explain x.0.ffn.up.matmul
expect_output "what would have to change"
expect_exit 2 "$tools/compile" "$model" --devices 4 --plan-only --explain x.0.ffn.upp --error-format json
expect_output '"code":null'
# GPT-3's sizes: whole tensors have more elements than MPI can count, but each device holds few of them.
gpt3=(--set batch=1536 --set seq=2048 --set vocab=51200 --set width=12288 --set heads=96)
expect_exit 0 "$tools/compile" "$model" "${gpt3[@]}" --devices 1024 --plan-only
expect_output "attn.qkv.matmul f32["
expect_exit 0 "$tools/compile" "$model" "${gpt3[@]}" --devices 1024 --emit plan
expect_exit 0 "$tools/compile" "$model" "${gpt3[@]}" --devices 1 --plan-only
expect_output "logits.bias_add f32[1536, 2048, 51200]"
expect_exit 3 "$tools/compile" "$model" "${gpt3[@]}" --devices 1
expect_output "error[E0314]: a device holds 161061273600 elements of \`logits.matmul\`, more than 2147483647"
[ -e out ] && fail "a plan alone was written somewhere"

exit $((failures > 0))
