#!/bin/sh
# Rewrites goldens: runs each test named on the command line so that it writes what it found into the project, instead of
# comparing. `bazel run //:bless` names them; look at the difference before you keep it.
set -u
root=${BUILD_WORKSPACE_DIRECTORY:?run this with: bazel run //:bless}
failed=0
for test in "$@"; do
  echo "blessing with $test"
  CLEAVE_BLESS=$root "$test" --gtest_brief=1 || failed=1
done
exit $failed
