# What tests of commands have in common. `output` in the current folder holds what the last command printed.
failures=0
fail() {
  echo "FAILED: $1" >&2
  sed 's/^/  | /' output >&2
  failures=$((failures + 1))
}
# Expects the exit code $1 of the command after it; what it prints goes to `output`.
expect_exit() {
  local expected=$1
  shift
  "$@" >output 2>&1 </dev/null
  local exit_code=$?
  [ "$exit_code" = "$expected" ] || fail "$* exits with $exit_code, not $expected"
}
expect_output() { grep -qF -- "$1" output || fail "the output does not say: $1"; }
