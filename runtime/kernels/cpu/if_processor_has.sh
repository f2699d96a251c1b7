#!/bin/sh
# Runs a test that is compiled for processors with a feature, if this one has it: if_processor_has.sh FEATURE TEST
feature=$1
shift
if grep -qw "$feature" /proc/cpuinfo; then exec "$@"; fi
echo "this processor has no $feature"
