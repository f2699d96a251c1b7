#!/bin/bash
# What .ci/run counts in Bazel's output, and its exit code.
set -u

data=$PWD
failures=0

# Runs .ci/run with a ./bazelw that prints $2 and exits with $3; expects the last line $4 and the exit code $5.
expect() {
  local folder=$TEST_TMPDIR/$1
  mkdir -p "$folder/.ci"
  cp "$data/.ci/run" "$folder/.ci/run"
  printf '%s\n' "$2" >"$folder/output"
  printf '#!/bin/sh\n[ "$*" = "test //..." ] || exit 99\ncat output\nexit %s\n' "$3" >"$folder/bazelw"
  chmod +x "$folder/bazelw"
  local result exit_code
  result=$(CI=true "$folder/.ci/run" 2>&1 </dev/null)
  exit_code=$?
  if [ "$(tail -n 1 <<<"$result")" != "$4" ] || [ "$exit_code" != "$5" ]; then
    echo "FAILED: $1: exit code $exit_code (expected $5), last line not \"$4\":" >&2
    sed 's/^/  | /' <<<"$result" >&2
    failures=$((failures + 1))
  fi
}

expect passes "INFO: Elapsed time: 3.9s
//base/text:text_test              (cached) PASSED in 0.0s
//base/units:units_test                     PASSED in 0.1s
Executed 1 out of 2 tests: 2 tests pass." 0 "2 passed, 0 failed" 0

expect fails "INFO: Elapsed time: 3.9s
//base/text:text_test              (cached) PASSED in 0.0s
//base/units:units_test                     FAILED in 0.1s
  /tmp/log
//base/check:check_test                     TIMEOUT in 60.0s" 3 "1 passed, 2 failed" 3

expect does_not_build "INFO: Elapsed time: 3.9s
//base/text:text_test                       PASSED in 0.0s
//base/units:units_test                     FAILED TO BUILD
//base/check:check_test                     NO STATUS" 1 "1 passed, 2 failed" 1

expect output_of_a_test_is_not_counted "//base/fake:fake_test                 PASSED in 0.1s
INFO: Elapsed time: 3.9s
//base/units:units_test                     FAILED in 1 out of 2 in 8.2s" 3 "0 passed, 1 failed" 3

expect bazel_does_not_start "ERROR: no such package" 1 "0 passed, 1 failed" 1
expect nothing_ran "INFO: Elapsed time: 0.1s" 0 "0 passed, 1 failed" 1

exit $((failures > 0))
