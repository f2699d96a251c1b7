#!/bin/bash
# Runs the collectives' tests on 1 to 8 ranks that are threads.
set -u
program=$1
export OMP_NUM_THREADS=1
export CUDA_STAND_IN_DEVICES=8  # Where ranks compute on GPUs: one for each.
export CUDA_DEVICE_MAX_CONNECTIONS=256  # More than a GPU has: a rank sends to all others in all groups, on a stream each.
failed=0
for ranks in 1 2 3 4 5 8; do
  echo "== $ranks ranks"
  types='*'
  if [ "$ranks" = 8 ]; then types=-*/1.*:*/2.*:*/3.*:*/4.*; fi  # Every type is tried with fewer: these take most time.
  WORLD_SIZE=$ranks "$program" --gtest_brief=1 --gtest_filter="$types" || failed=1
done
exit $failed
