#!/bin/bash
# Question: how long does a job take to start and to end, in each way to start it?
#
# Trains examples/mnist_mlp for one step on 8 ranks and prints for each way the median and the least wall time over the repetitions, of the
# whole ./run.sh, and its ratio to mpirun. The ways take turns.
#
#   bazel run //bench/launch [-- REPETITIONS [RANKS]]
#
# CLEAVE_PROGRAM=FOLDER: an output folder that has already been compiled for this number of ranks.
set -eu

repetitions=${1:-7}
ranks=${2:-8}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
out=${CLEAVE_PROGRAM:-$folder/out}
if [ -z "${CLEAVE_PROGRAM:-}" ]; then
  tools/compile examples/mnist_mlp/mnist_mlp.model --devices "$ranks" --set 'data=digits(test = 0)' --out "$out" --quiet
fi
for comm in mpi gloo; do
  make -s -C "$out" COMM=$comm >"$folder/make.log" 2>&1 || { cat "$folder/make.log" >&2; exit 1; }
done
cd "$out"
export OMP_NUM_THREADS=1

# A rank table for this machine, and variables as torchrun sets them.
devices=
for ((i = 0; i < ranks; ++i)); do
  devices+="${devices:+, }{\"device_id\": \"$i\", \"device_ip\": \"127.0.0.1\", \"rank_id\": \"$i\"}"
done
printf '{"version": "1.0", "server_count": "1", "status": "completed", "server_list": [{"server_id": "127.0.0.1", "device": [%s]}]}\n' \
  "$devices" >"$folder/ranks.json"
one_by_one() {
  local pids=
  for ((i = 0; i < ranks; ++i)); do
    RANK=$i LOCAL_RANK=$i WORLD_SIZE=$ranks MASTER_ADDR=127.0.0.1 MASTER_PORT=29618 ./program_gloo "$@" &
    pids+=" $!"
  done
  for pid in $pids; do wait "$pid"; done
}

start() {
  case $1 in
    mpirun) ./run.sh --launch mpirun --steps 1 --quiet ;;
    rank-table) ./run.sh --launch rank-table "$folder/ranks.json" --steps 1 --quiet ;;
    dynamic) ./run.sh --launch dynamic --steps 1 --quiet ;;
    torchrun) one_by_one --steps 1 --quiet ;;
  esac >"$folder/output" 2>&1 || { cat "$folder/output" >&2; exit 1; }
}

ways="mpirun rank-table dynamic torchrun"
for way in $ways; do start "$way"; done # The first start, which reads the files from disk, is not counted.
for ((repetition = 0; repetition < repetitions; ++repetition)); do
  for way in $ways; do
    begin=$(date +%s%N)
    start "$way"
    echo $((($(date +%s%N) - begin) / 1000000)) >>"$folder/$way"
  done
done

# median and minimum of the numbers on standard input
summary() { sort -g | awk '{ v[NR] = $1 } END { printf "%d %d\n", v[int((NR + 1) / 2)], v[1] }'; }

printf '%-12s %10s %10s %10s\n' "$ranks ranks" 'median ms' 'least ms' 'ratio'
read -r by_mpirun _ <<<"$(summary <"$folder/mpirun")"
for way in $ways; do
  read -r median least <<<"$(summary <"$folder/$way")"
  awk -v w="$way" -v m="$median" -v l="$least" -v b="$by_mpirun" 'BEGIN { printf "%-12s %10d %10d %10.2f\n", w, m, l, m / b }'
done
