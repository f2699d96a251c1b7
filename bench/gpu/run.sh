#!/bin/bash
# Questions: do programs for GPUs compute what they should on this machine's GPU, and how fast are they compared with
# PyTorch?
#
# 1. kernels: the tests of code for the device, against references on the host
# 2. losses: the three examples on one rank against the CPU target's losses, 20 steps, at most 1e-4 apart (relative)
# 3. ranks: the same on 2, 4 and 8 ranks that share the GPU, against one rank
# 4. sanitizer: compute-sanitizer (memcheck, racecheck, synccheck) on two small programs
# 5. speed: step times and shares of peak, and those of PyTorch, eager and compiled, for the same models in the same run
#
#   ./run.sh [--stand-in FOLDER] [--only "kernels losses ..."] [PROGRAMS]
#
# PROGRAMS is what bench/gpu/prepare.sh has written (default: the folder of this script). Needs nvcc, g++, make and
# python3; for 5 PyTorch. No MPI, no NCCL, no network. With --stand-in (runtime/stand_in) everything is compiled for the
# CPU, to try this script: 4 and 5 are left out. A failure is reported, and the rest continues; logs are in
# PROGRAMS/logs. Exits with 1 if anything failed.
set -u

stand_in=
only="kernels losses ranks sanitizer speed"
while [ $# -gt 0 ]; do
  case $1 in
    --stand-in) stand_in=$(realpath "$2") && shift 2 || exit 2 ;;
    --only) only=$2 && shift 2 || exit 2 ;;
    -*) sed -n '2,16s/^# \{0,1\}//p' "$0" && exit 2 ;;
    *) break ;;
  esac
done
cd "${1:-$(dirname "$0")}" || exit 2
[ -d runtime ] || { echo "run.sh: no programs in $PWD: bench/gpu/prepare.sh writes them" >&2; exit 2; }
limit=${LIMIT:-900} # Seconds for one program.
steps=20
[ -z "$stand_in" ] || { steps=3 && only=$(sed 's/sanitizer//; s/speed//' <<<"$only"); }
make=(make COMM=local ${stand_in:+STAND_IN="$stand_in"})
mkdir -p logs bin runs
failures=0

wanted() { case " $only " in *" $1 "*) return 0 ;; *) return 1 ;; esac; }

# say NAME RESULT [DETAIL]
say() { printf '%-34s %-7s %s\n' "$1" "$2" "${3-}"; }
failed() {
  failures=$((failures + 1))
  say "$1" FAILED "${2-}"
}

# The line of a log that explains a failure: the first with an error, else the last.
why() {
  [ -e "$1" ] || { echo "not started" && return; }
  { grep -m1 -E 'error:|undefined reference|Error [0-9]|[*]{3} ' "$1" || grep -v '^ *$' "$1" | tail -1; } | cut -c1-160
}

# build NAME [variables of make]: bin/NAME.
build() {
  local name=$1
  shift
  "${make[@]}" MAIN="$name.cu" PROGRAM="bin/$name" "$@" >"logs/$name.build" 2>&1
}

# Builds all that are named, several at once: the first also compiles the runtime, which the others share.
build_all() {
  local name jobs=$(($(nproc) / 2 + 1))
  build "$1" -k || failed "build $1" "$(why "logs/$1.build")"
  for name in "${@:2}"; do
    while [ "$(jobs -rp | wc -l)" -ge "$jobs" ]; do wait -n; done
    build "$name" &
  done
  wait
  for name in "${@:2}"; do
    [ -x "bin/$name" ] || failed "build $name" "$(why "logs/$name.build")"
  done
}

# run NAME STEPS: trains it in runs/NAME and reports its exit code and last line.
run() {
  [ -x "bin/$1" ] || return 1
  local data=()
  case $1 in tiny_gpt*) data=(--data fables.txt) ;; esac
  rm -rf "runs/$1" && mkdir -p "runs/$1"
  timeout "$limit" "bin/$1" --steps "$2" --out "runs/$1" "${data[@]}" >"logs/$1.run" 2>&1
}

# compare NAME TITLE REFERENCE: runs NAME and compares its losses.
compare() {
  local difference
  if [ ! -x "bin/$1" ]; then
    failed "$2" "bin/$1 was not built"
  elif ! run "$1" "$steps"; then
    failed "$2" "$(why "logs/$1.run")"
  elif [ ! -e "$3" ]; then
    failed "$2" "$3 is not there to compare with"
  elif difference=$(python3 losses.py "runs/$1/metrics.jsonl" "$3" 1e-4 2>&1); then
    say "$2" ok "$difference"
  else
    failed "$2" "$difference"
  fi
}

machine() {
  gpu=$(nvidia-smi --query-gpu=name --format=csv,noheader 2>/dev/null | head -1)
  torch=$(python3 -c 'import torch; print(torch.__version__)' 2>/dev/null)
  echo "GPU: ${gpu:-none}${stand_in:+ (stand-in)}; $(nvcc --version 2>/dev/null | tail -1); driver $(nvidia-smi \
    --query-gpu=driver_version --format=csv,noheader 2>/dev/null | head -1); PyTorch ${torch:-none}"
}

kernels() {
  local test name
  [ -d googletest ] || { failed kernels "prepare.sh found no sources of GoogleTest" && return; }
  export CPATH=$PWD/googletest/include
  if [ ! -e bin/googletest.o ]; then
    printf '#include "%s"\n' googletest/src/gtest-all.cc googletest/src/gtest_main.cc |
      g++ -O1 -std=c++17 -I. -Igoogletest -x c++ -c -o bin/googletest.o - >logs/googletest.build 2>&1
  fi
  for test in tests/*.cu; do
    name=tests/$(basename "$test" .cu)
    mkdir -p bin/tests logs/tests
    if ! build "$name" COMM_LIBS=bin/googletest.o; then
      failed "$name" "$(why "logs/$name.build")"
    elif timeout "$limit" "bin/$name" >"logs/$name.run" 2>&1; then
      say "$name" ok "$(grep 'PASSED' "logs/$name.run" | tr -s ' ')"
    else
      failed "$name" "$(grep -m1 'FAILED' "logs/$name.run" || why "logs/$name.run")"
    fi
  done
  unset CPATH
}

losses() {
  local name
  for name in mnist_mlp mnist_cnn tiny_gpt; do
    compare "${name}_1" "losses $name" "expected/$name.jsonl"
  done
}

ranks() {
  local name count
  for name in mnist_mlp mnist_cnn tiny_gpt; do
    [ -e "runs/${name}_1/metrics.jsonl" ] || run "${name}_1" "$steps"
    for count in 2 4 8; do
      compare "${name}_$count" "$name on $count ranks" "runs/${name}_1/metrics.jsonl"
    done
  done
}

sanitizer() {
  local tool name
  command -v compute-sanitizer >/dev/null || { failed sanitizer "compute-sanitizer is not there" && return; }
  for tool in memcheck racecheck synccheck; do
    for name in sanitize_gpt sanitize_cnn; do
      if timeout "$limit" compute-sanitizer --tool "$tool" --error-exitcode 1 "bin/$name" --steps 2 --out runs/sanitizer \
        >"logs/$name.$tool" 2>&1; then
        say "$tool $name" ok "$(grep -m1 'SUMMARY' "logs/$name.$tool")"
      else
        failed "$tool $name" "$(grep -m1 'SUMMARY' "logs/$name.$tool" || why "logs/$name.$tool")"
      fi
    done
  done
}

# time_of WHO NAME MODEL BATCH PRECISION: a line of times.tsv.
time_of() {
  local milliseconds=- who=$1 name=$2
  if [ "$who" = cleave ]; then
    if run "$name" "$([ "$3" = mlp ] && echo 300 || echo 40)"; then
      milliseconds=$(python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["median_step_seconds"] * 1e3)' \
        "runs/$name/run.json")
    else
      failed "speed $name" "$(why "logs/$name.run")"
    fi
  elif ! milliseconds=$(timeout "$limit" python3 torch_step.py "$3" "$4" "$5" "$who" 2>"logs/torch_$3_$4_$5_$who"); then
    failed "speed PyTorch $who $3 $4 $5" "$(why "logs/torch_$3_$4_$5_$who")"
    milliseconds=-
  fi
  [ "$who" = cleave ] || who="torch $who"
  printf '%s\t%s\t%s\t%s\t%s\n' "$3" "$4" "$5" "$who" "$milliseconds" >>times.tsv
}

speed() {
  local program model batch precision who
  rm -f times.tsv
  [ -n "$torch" ] || failed speed "PyTorch is not there: only Cleave's times follow"
  for program in speed_*.cu; do
    IFS=_ read -r _ model batch precision <<<"${program%.cu}"
    time_of cleave "${program%.cu}" "$model" "$batch" "$precision"
    for who in eager compile graphs; do
      [ -z "$torch" ] || time_of "$who" - "$model" "$batch" "$precision"
    done
  done
  python3 table.py times.tsv "${gpu:-none}"
}

machine
programs=()
for part in losses:{mnist_mlp,mnist_cnn,tiny_gpt}_1 ranks:{mnist_mlp,mnist_cnn,tiny_gpt}_{1,2,4,8} sanitizer:sanitize_{gpt,cnn}; do
  wanted "${part%%:*}" && programs+=("${part#*:}")
done
if wanted speed; then
  for program in speed_*.cu; do programs+=("${program%.cu}"); done
fi
# A part may share programs with another.
mapfile -t programs < <(printf '%s\n' "${programs[@]}" | awk 'NF && !seen[$0]++')
[ ${#programs[@]} = 0 ] || build_all "${programs[@]}"
for part in kernels losses ranks sanitizer speed; do
  wanted "$part" && $part
done
echo "$failures failed"
[ "$failures" = 0 ]
