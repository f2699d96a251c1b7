#!/bin/bash
# The manual page, what bash completes, and that zsh accepts its script where it is installed.
set -u

failures=0
fail() {
  echo "FAILED: $1" >&2
  failures=$((failures + 1))
}
scripts=$PWD/tools/package
# The manual page has no mistakes, and shows what it is made of.
if command -v groff >/dev/null; then
  said=$(groff -man -Tutf8 -ww -z "$scripts/cleave.1" 2>&1)
  [ -z "$said" ] || fail "groff says of the manual page: $said"
  groff -man -Tascii -P-cbou "$scripts/cleave.1" 2>/dev/null | tr -s ' \n' ' ' >"$TEST_TMPDIR/manual"
  for text in 'cleave compile Compiles a model into a program.' '--target cpu|cuda'; do
    grep -qF -- "$text" "$TEST_TMPDIR/manual" || fail "the manual lacks: $text"
  done
fi

. "$scripts/completion.bash"
complete -p cleave | grep -q -- '-F _cleave cleave' || fail "nothing is registered"

# Expects that the words $2... with the last one unfinished are completed by the words of $1, in any order.
expect() {
  local expected=$1
  shift
  COMP_WORDS=(cleave "$@")
  COMP_CWORD=$#
  COMPREPLY=()
  _cleave 2>/dev/null # Without a terminal, compopt complains.
  local found
  found=$(printf '%s\n' "${COMPREPLY[@]}" | sort | tr '\n' ' ')
  expected=$(printf '%s\n' $expected | sort | tr '\n' ' ')
  [ "$found" = "$expected" ] || fail "cleave $*: $found instead of $expected"
}

mkdir "$TEST_TMPDIR/typing" && cd "$TEST_TMPDIR/typing" || exit 1
mkdir folder "two words" && touch a.model b.json folder/c.model "two words/größe.model" d.txt

expect "compile run sweep plan explain diff profile import export weights data serve watch fmt lsp doctor calibrate clean completion help version --help --version" ""
expect "compile completion" comp
expect "--version" --v
expect "--search --set --seed --steps" compile --s
expect "--search --set" plan --s
expect "--trace" plan --tr
expect "--check" fmt --c
expect "" clean x
expect "--search --set" sweep --s
expect "sapp propagate exact data_parallel replicate manual" compile --search ""
expect "data_parallel" plan a.model --search d
expect "cpu cuda" compile --target = ""
expect "cuda" run --target = cu
expect "mpirun rank-table dynamic local" run --launch ""
expect "b.json folder two words" run --launch rank-table ""
expect "h100x8 h200x8" plan --cluster h
expect "text json" fmt --error-format ""
expect "truncate drop split error" data chat --long ""
expect "a.model folder two words" compile ""
expect "folder/c.model" compile folder/
expect "b.json folder two words" diff b.json ""
expect "b.json folder two words" profile ""
expect "folder two words" compile --out ""
expect "bash zsh" completion ""
expect "fmt" help f
expect "E0304" explain E0304
expect "a.model folder two words" explain ""
expect "" run a.model -- --st
COMP_WORDS=(cleave fmt 'two\ words/gr') COMP_CWORD=2
_cleave 2>/dev/null
[ "${COMPREPLY[*]}" = "two words/größe.model" ] || fail "behind a quoted blank: ${COMPREPLY[*]}"
COMP_WORDS=(cleave fmt '"two words/') COMP_CWORD=2
_cleave 2>/dev/null
[ "${COMPREPLY[*]}" = "two words/größe.model" ] || fail "in quotes: ${COMPREPLY[*]}"

if command -v zsh >/dev/null 2>&1; then
  zsh -n "$scripts/completion.zsh" || fail "zsh does not read its script"
fi
head -1 "$scripts/completion.zsh" | grep -qx '#compdef cleave' || fail "zsh does not find its script"

exit $((failures > 0))
