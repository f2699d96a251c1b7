#!/bin/bash
# Installs into fresh folders and starts what is there, from another folder and without the build's files.
set -u

install=$PWD/tools/package/install
model=$PWD/tools/package/tiny.model
failures=0
fail() {
  echo "FAILED: $1" >&2
  failures=$((failures + 1))
}
# What `bazel run` adds in front of the user's words.
files=(tools/cleave.stripped tools/package/completion.bash tools/package/completion.zsh tools/package/cleave.1)
run_install() { BUILD_WORKING_DIRECTORY=$user "$install" "${files[@]}" "$@"; }
# Of the home folders and prefixes below, nothing else is there.
expect_files() {
  local found
  found=$(cd "$1" && find . -type f | sort | tr '\n' ' ')
  [ "$found" = "./bin/cleave ./share/bash-completion/completions/cleave ./share/man/man1/cleave.1 ./share/zsh/site-functions/_cleave " ] ||
    fail "$1 holds $found"
}

user=$TEST_TMPDIR/"a user's folder ü"
export HOME=$TEST_TMPDIR/home
mkdir -p "$user" "$HOME"

run_install >output || fail "no installation into the home folder"
expect_files "$HOME/.local"
grep -q "^installed cleave [0-9].*: $HOME/.local/bin/cleave$" output || fail "it says $(cat output)"
grep -q "is not on the PATH" output || fail "it does not say that the folder is not on the PATH"
PATH=$HOME/.local/bin:$PATH run_install >output
grep -q "is not on the PATH" output && fail "the folder is on the PATH"

run_install --prefix "some where" >/dev/null && expect_files "$user/some where"
run_install --prefix="$TEST_TMPDIR/absolute" >/dev/null && expect_files "$TEST_TMPDIR/absolute"
run_install --prefix="$TEST_TMPDIR/absolute" >/dev/null || fail "no second installation"
expect_files "$TEST_TMPDIR/absolute"

# The binary needs nothing but itself: neither these folders nor their data.
mkdir "$TEST_TMPDIR/elsewhere"
cd "$TEST_TMPDIR/elsewhere" || exit 1
cp "$model" .
cleave=$TEST_TMPDIR/absolute/bin/cleave
env -i "$cleave" compile tiny.model --devices 2 --quiet || fail "the installed cleave compiles nothing"
[ -e out/tiny/program.cc ] && [ -e out/tiny/runtime ] || fail "there is no program"
# A script that `bazel run` has started may call an installed cleave: paths are those of the folder where it does.
BUILD_WORKING_DIRECTORY=$user "$cleave" plan tiny.model >/dev/null || fail "it looks elsewhere for the model"
cd - >/dev/null || exit 1

expect_usage() {
  local expected=$1
  shift
  run_install "$@" >output 2>&1
  [ $? = 2 ] || fail "$* is accepted"
  grep -qF "error: $expected" output || fail "$*: $(cat output)"
}
expect_usage '`--prefix` names no folder' --prefix
expect_usage '`--prefix` names no folder' --prefix ""
expect_usage 'unexpected `--perfix`; did you mean `--prefix`?' --perfix x
expect_usage 'unexpected `x`' x
run_install --help | grep -q -- --prefix || fail "no help"

touch "$TEST_TMPDIR/file"
run_install --prefix "$TEST_TMPDIR/file" >output 2>&1
[ $? = 5 ] || fail "it installs below a file"
grep -qF "error: cannot install \`$TEST_TMPDIR/file/bin/cleave\`" output || fail "it says $(cat output)"

exit $((failures > 0))
