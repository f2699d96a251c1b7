#!/bin/bash
# Question: what does this machine do in a second, and how close are the formulas of the price `time`?
#
#   bazel run //bench/calibrate -- --ranks 2 --out cpu_here.json
#
# Starts bench/calibrate/measure under mpirun: it writes a cluster file that `--cluster` takes.
set -eu

usage() {
  echo "usage: calibrate --ranks N --out FILE.json" >&2
  exit 2
}

ranks= out=
while [ $# -gt 0 ]; do
  [ $# -ge 2 ] || usage
  case $1 in
    --ranks) ranks=$2 ;;
    --out) out=$2 ;;
    *) usage ;;
  esac
  shift 2
done
case $ranks in '' | *[!0-9]* | 0) usage ;; esac
[ -n "$out" ] || usage
case $out in /*) ;; *) out=${BUILD_WORKING_DIRECTORY:-$PWD}/$out ;; esac

threads=$(($(nproc) / ranks))
[ "$threads" -ge 1 ] || threads=1
export OMP_NUM_THREADS=$threads OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
exec mpirun --quiet --bind-to none --oversubscribe -n "$ranks" bench/calibrate/measure "$out"
