#!/bin/sh
# Prints each of the named files as {"path", R"delimiter(text)delimiter"}, ordered by path.
set -eu
printf '%s\n' "$@" | LC_ALL=C sort | while IFS= read -r path; do
  printf '{"%s", R"runtime_file(' "$path"
  cat "$path"
  printf ')runtime_file"},\n'
done
