#!/usr/bin/env bash
# Runs clang-format over every C++ file of the tree, and cleave fmt over the models that are to be right, and compares.
set -uo pipefail

cleave=$PWD/tools/cleave

root=$(dirname "$(readlink -f WORKSPACE)")
cd "$root" || exit 1

version=$(clang-format --version) || exit 1
if [[ $version != *"version 14."* ]]; then
  echo "The tree is formatted with clang-format 14; this is: $version"
  exit 1
fi

files=$(find base bench codegen dsl examples frontend ir runtime search tests tools -type f \
  \( -name '*.cc' -o -name '*.h' -o -name '*.cu' -o -name '*.cuh' \) | sort)
if ! grep -qx base/check/check.h <<<"$files"; then
  echo "The tree is not below $root."
  exit 1
fi

# A warning for each place that would change: "ir/sharding/mesh/mesh.cc:12:3: warning: code should be clang-formatted".
# Each process writes to a file of its own, because a pipe that several processes write to may mix their lines.
export output=$(mktemp -d)
trap 'rm -rf "$output"' EXIT
xargs -P2 -n 50 sh -c 'clang-format --dry-run "$@" >"$output/$$" 2>&1 || echo "clang-format failed: $*" >>"$output/$$"' \
  clang-format <<<"$files"
unformatted=$(cat "$output"/* | sed -nE 's/^([^ :]+):[0-9]+:[0-9]+: warning: .*/\1/p' | sort -u)
failures=$(cat "$output"/* | grep -E '^clang-format failed|: error: ')
if [[ -n $unformatted$failures ]]; then
  echo "$failures"
  echo "These files are not laid out as clang-format leaves them:"
  sed 's/^/  /' <<<"$unformatted"
  echo "To mend them, run in $root:"
  echo "  clang-format -i" $unformatted
  exit 1
fi
if ! find examples tests -name '*.model' ! -path 'tests/diagnostics/*' ! -path 'tests/fuzz/*' -print0 | xargs -0 "$cleave" fmt --check >"$output/models" 2>&1; then
  cat "$output/models"
  echo "To mend them: cleave fmt MODEL"
  exit 1
fi
echo "$(wc -l <<<"$files") files are laid out as clang-format leaves them."
