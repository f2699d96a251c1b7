#!/bin/bash
# Folders of the runtime that programs compile together (WITH_FOLDER of codegen/source/makefile.cc), and those with many files of which programs have some,
# compile together with all their files: a name in an unnamed namespace is unique within them.
set -eu

units=0
while read -r folder with; do
  for name in $folder $with; do
    for file in "$name"/*.cc; do [ ! -e "$file" ] || echo "#include \"$file\""; done
  done >"$TEST_TMPDIR/unit.cc"
  [ -s "$TEST_TMPDIR/unit.cc" ] || continue
  g++ -std=c++17 -fopenmp -fno-exceptions -I. -fsyntax-only "$TEST_TMPDIR/unit.cc"
  units=$((units + 1))
done < <(sed -n 's/^WITH_\(.*\) = /\1 /p' codegen/source/makefile.cc; echo runtime/kernels/cpu)
[ "$units" -ge 7 ]
