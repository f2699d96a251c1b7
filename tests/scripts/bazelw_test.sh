#!/bin/bash
# What ./bazelw does for each state of the machine: packages installed or missing, root or not, apt or not.
set -u

data=$PWD
tools="sh true bash sed grep tr dirname mkdir touch env cat sleep find sort awk xargs rm"
failures=0

fail() {
  echo "FAILED: $case: $1" >&2
  sed 's/^/  | /' "$folder/output" >&2
  failures=$((failures + 1))
}
expect_exit() { [ "$exit_code" = "$1" ] || fail "exit code $exit_code, not $1"; }
expect_output() { grep -qF -- "$1" "$folder/output" || fail "the output does not say: $1"; }
expect_called() { grep -qxF -- "$1" "$folder/calls" || fail "not called: $1; but: $(tr '\n' ';' <"$folder/calls")"; }
expect_not_called() { ! grep -q "^$1" "$folder/calls" || fail "called: $(grep "^$1" "$folder/calls")"; }

# A program on the PATH that notes its call and then runs `$2`.
replace() {
  printf '#!/bin/sh\necho "%s $*" >>"%s/calls"\n%s\n' "$1" "$folder" "$2" >"$folder/bin/$1"
  chmod +x "$folder/bin/$1"
}

# A project with three packages, all of them installed, and a user who is root.
start() {
  case=$1
  folder=$TEST_TMPDIR/$case
  mkdir -p "$folder/bin" "$folder/project/third_party" "$folder/home"
  cp "$data/bazelw" "$folder/project/bazelw"
  printf '# A list.\nalpha   the first\ng++   the compiler\nomega-dev   the last\n' >"$folder/project/third_party/packages.txt"
  for tool in $tools; do ln -s "$(type -P "$tool")" "$folder/bin/$tool"; done
  : >"$folder/calls"
  replace bazel 'exit 7'
  replace apt-get 'exit 0'
  replace id 'echo 0'
  installed alpha g++ omega-dev
}

# dpkg-query knows these packages, and a removed one.
installed() {
  local lines="removed-package config-files"
  for name in "$@"; do lines="$lines\\n$name installed"; done
  replace dpkg-query "printf '$lines\\n'"
}

run() {
  (cd "$folder/project" && env -i HOME="$folder/home" PATH="$folder/bin" ./bazelw "$@") >"$folder/output" 2>&1 </dev/null
  exit_code=$?
}

start everything_is_there
run test //base/...
expect_exit 7 # Bazel's own exit code.
expect_called "bazel test //base/..."
expect_not_called apt-get

start one_is_missing
installed alpha omega-dev
run build //...
expect_exit 7
expect_output "g++   the compiler"
expect_called "apt-get update -qq"
expect_called "apt-get install -y -qq --no-install-recommends g++"
expect_called "bazel build //..."

start removed_packages_are_missing
installed alpha g++
replace dpkg-query "printf 'alpha installed\\ng++ installed\\nomega-dev config-files\\n'"
run build
expect_called "apt-get install -y -qq --no-install-recommends omega-dev"

start without_root
installed omega-dev
replace id 'echo 1000'
run build
expect_exit 5
expect_output "alpha   the first"
expect_output "apt-get install --no-install-recommends alpha g++"
expect_not_called apt-get
expect_not_called bazel

start without_root_with_sudo
installed omega-dev
replace id 'echo 1000'
replace sudo '[ "$1" = -n ] && shift; exec "$@"'
run build
expect_exit 7
expect_called "apt-get install -y -qq --no-install-recommends alpha g++"

start without_apt
rm "$folder/bin/apt-get"
run build
expect_exit 5
expect_output "omega-dev   the last"
expect_not_called bazel

start failing_apt
installed alpha
replace apt-get 'echo "no network"; exit 100'
run build
expect_exit 5
expect_output "no network"
expect_output "g++ omega-dev"
expect_not_called bazel

# A stamp older than the list does not count; from the second call on Debian is not asked.
start the_second_call_asks_nobody
touch -d '2 hours ago' "$folder/project/third_party/packages.txt"
run build
expect_called "bazel build"
: >"$folder/calls"
touch -d '1 hour' "$folder/home/.cache/cleave/packages_present"
run build
expect_called "bazel build"
expect_not_called dpkg-query
touch -d '2 hours' "$folder/project/third_party/packages.txt"
run build
expect_called "bazel build"
grep -q '^dpkg-query' "$folder/calls" || fail "a changed list was not looked at"

# The list of the project itself: a name and a reason per line, no name twice.
case=packages.txt
folder=$TEST_TMPDIR
list=$data/third_party/packages.txt
grep -vE '^#|^[a-z0-9][a-z0-9+.-]+ +[^ ].+$' "$list" >"$folder/output" && fail "lines that are not a name and a reason"
grep -v '^#' "$list" | sed 's/ .*//' | sort | uniq -d | grep . >"$folder/output" && fail "names that stand twice"

# Files of 6 GiB each, which take nothing: the two that were read last stay, and for a day nobody counts again.
start the_disk_cache_is_bounded
cache=$folder/home/.cache/cleave-bazel/cas
mkdir -p "$cache"
of_6_gib() { truncate -s 6G "$cache/$1" && touch -a -d "$2" "$cache/$1"; }
of_6_gib "read_last" "1 hour ago"
of_6_gib "read before" "2 hours ago"
of_6_gib "read first" "3 days ago"
run build
expect_exit 7
[ "$(ls "$cache" | tr '\n' ';')" = "read before;read_last;" ] || fail "the cache has: $(ls "$cache")"
of_6_gib "read first" "3 days ago"
run build
[ -e "$cache/read first" ] || fail "the cache was counted again on the same day"

exit $((failures > 0))
