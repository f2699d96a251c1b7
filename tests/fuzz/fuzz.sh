#!/usr/bin/env bash
# Runs the targets of this folder with libFuzzer, one after another; prints how to repeat each finding.
set -euo pipefail

usage() {
  cat >&2 <<'END'
usage: bazel run //tests/fuzz -- [--seconds N | --executions N] [--target NAME]... [--seed N] [--out FOLDER]
       bazel run //tests/fuzz -- --target NAME --repeat FILE

  --seconds N      time for each target (default: 60)
  --executions N   runs of each target instead
  --target NAME    only this one; may be repeated (default: all)
  --seed N         of the random changes (default: a new one)
  --out FOLDER     inputs that reached something new, from which a later run goes on, and findings
                   (default: out/fuzz)
  --repeat FILE    runs the target once, with the input in this file
END
  exit 2
}

known=()
while [ $# -gt 0 ] && [ "$1" != -- ] && [ "${1#--}" = "$1" ]; do
  known+=("$1")
  shift
done

root=${BUILD_WORKSPACE_DIRECTORY:?"start it by: bazel run //tests/fuzz"}
cd_from=${BUILD_WORKING_DIRECTORY:-$root}
seconds=60 executions= targets=() seed=$RANDOM out=$root/out/fuzz repeat=
while [ $# -gt 0 ]; do
  [ $# -ge 2 ] || usage
  case $1 in
    --seconds | --executions | --seed) [[ $2 =~ ^[0-9]{1,9}$ ]] || usage ;;&
    --seconds) seconds=$2 ;;
    --executions) executions=$2 ;;
    --seed) seed=$2 ;;
    --target)
      printf '%s\n' "${known[@]}" | grep -qxF -- "$2" || { echo "fuzz: the targets are: ${known[*]}" >&2; exit 2; }
      targets+=("$2") ;;
    --out) out=$(cd "$cd_from" && realpath -m -- "$2") ;;
    --repeat) repeat=$(cd "$cd_from" && realpath -- "$2") ;;
    *) usage ;;
  esac
  shift 2
done
[ ${#targets[@]} -gt 0 ] || targets=("${known[@]}")
[ -z "$repeat" ] || [ ${#targets[@]} -eq 1 ] || usage

library=/usr/lib/llvm-14/lib/clang/14.0.6/lib/linux/libclang_rt.fuzzer-x86_64.a
[ -e "$library" ] || {
  echo "fuzz: libFuzzer is missing; as root: apt-get install --no-install-recommends libclang-rt-14-dev" >&2
  exit 5
}

build() { (cd "$root" && ./bazelw "$1" --config=fuzz "${@:2}"); }
build build --symlink_prefix=/ "${targets[@]/#///tests/fuzz:}"
programs=$(build info bazel-bin 2>/dev/null)/tests/fuzz

# Leaks are not looked for: the parser's tables, which are kept for the next run, would take most of the time.
export ASAN_OPTIONS=detect_leaks=0:quarantine_size_mb=64:${ASAN_OPTIONS:-}
export UBSAN_OPTIONS=print_stacktrace=1:${UBSAN_OPTIONS:-}
# What takes 10 seconds without sanitizers takes a minute with them.
limits=(-timeout=60 -timeout_exitcode=77 -rss_limit_mb=2048 -max_len=8192)

if [ -n "$repeat" ]; then
  exec "$programs/${targets[0]}" "${limits[@]}" "$repeat"
fi

# A target that has so many findings is left alone.
most_findings=20
all_findings=0
all_executions=0
for target in "${targets[@]}"; do
  mkdir -p "$out/$target/corpus" "$out/$target/findings"
  tr '\n' ',' <"tests/fuzz/$target.corpus" | sed 's/,$//' >"$out/$target/seeds"
  begin=$SECONDS done=0 findings=0
  while [ $findings -lt $most_findings ]; do
    if [ -n "$executions" ]; then
      [ $done -lt "$executions" ] || break
      amount=-runs=$((executions - done))
    else
      left=$((seconds - (SECONDS - begin)))
      [ "$left" -gt 0 ] || break
      amount=-max_total_time=$left
    fi
    code=0
    "$programs/$target" "${limits[@]}" "$amount" -seed=$((seed + findings)) -print_final_stats=1 \
      -dict="tests/fuzz/$target.words" -seed_inputs=@"$out/$target/seeds" -use_value_profile=1 \
      -artifact_prefix="$out/$target/findings/" "$out/$target/corpus" >"$out/$target/log" 2>&1 || code=$?
    ran=$(sed -n 's/^stat::number_of_executed_units: *//p' "$out/$target/log" | tail -1)
    done=$((done + ${ran:-0}))
    [ $code -ne 0 ] || break
    findings=$((findings + 1))
    cp "$out/$target/log" "$out/$target/log_$findings"
    finding=$(sed -n 's/.*Test unit written to //p' "$out/$target/log" | tail -1)
    if [ -z "$finding" ]; then
      echo "fuzz: $target ended with exit code $code; see $out/$target/log" >&2
      break
    fi
    grep -m1 -E 'internal error|ERROR:|runtime error:|terminate called' "$out/$target/log" || true
    echo "  again: bazel run //tests/fuzz -- --target $target --repeat $finding"
  done
  echo "$target: $done executions in $((SECONDS - begin)) s, $findings findings (seed $seed)"
  all_findings=$((all_findings + findings))
  all_executions=$((all_executions + done))
done
echo "$all_executions executions, $all_findings findings"
[ $all_findings -eq 0 ]
