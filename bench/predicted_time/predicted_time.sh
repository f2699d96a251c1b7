#!/bin/bash
# Question: does the predicted time of a step tell which of two plans is faster, and is the default plan the fastest?
#
# Describes this machine (cleave calibrate), compiles examples for 1 and 2 ranks with every search and price, trains each different program for STEPS
# steps REPETITIONS times, in turn, and prints for each the predicted and the median measured step time. Then it counts the pairs of plans of one
# example whose measured times differ by more than 5 % and by more than they scatter, and how many of these the predictions order as the measurements
# do; and for each example how much longer the default plan takes than the fastest plan on as many ranks. At the end each program runs once with
# --profile, and kernels are compared by kind. `cleave profile` lays runs beside plans.
#
#   bazel run //bench/predicted_time [-- REPETITIONS [STEPS [FOLDER]]]       FOLDER: takes ranks_1.json and ranks_2.json from there, or writes them
set -eu

repetitions=${1:-7}
steps=${2:-60}
cleave=$PWD/tools/cleave
examples=$PWD/examples
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
clusters=${3:-$folder}

# Lines "example search price"; the first one of an example is what a model gets that chooses nothing.
plans() {
  for example in mnist_mlp mnist_cnn sapp_mlp tiny_gpt custom_op vmap; do
    echo "$example sapp default"
    for price in bytes time; do
      for search in sapp exact; do echo "$example $search $price"; done
    done
    echo "$example data_parallel -"
    echo "$example replicate -"
  done
}

for ranks in 1 2; do
  [ -f "$clusters/ranks_$ranks.json" ] || "$cleave" calibrate --devices "$ranks" --out "$clusters/ranks_$ranks.json"
done

# The number $2 ("predicted" or "measured", in ms) of a step of the run in $1.
step_of() {
  "$cleave" profile "$1" --json | awk -v what="\"$2\":" '/"step_seconds"/ { step = 1 } step && $1 == what { print $2 * 1000; exit }'
}

# Lines "kind predicted measured" of the kernels of the profiled run in $1.
kernels_of() {
  "$cleave" profile "$1" --json | awk -F '": ' '
    /"kernels": \[/ { inside = 1 }
    /"not_predicted"/ { inside = 0 }
    inside && / "predicted"/ { predicted = $2 + 0 }
    inside && / "measured"/ { measured = $2 + 0 }
    inside && / "kind"/ { gsub(/[",]/, "", $2); print $2, predicted, measured }'
}

# Compiles line $1 of the plans for $2 ranks; prints "example ranks search price program". A program that another plan has made too is
# built once. A search that refuses the model prints nothing.
build() {
  read -r example search price <<<"$1"
  model=$examples/$example/$example.model
  set -- "$2" "$model" --cluster "$clusters/ranks_$2.json" --devices "$2" --search "$search" --set log_every=1000000 --quiet
  case $price in bytes | time) set -- "$@" --set "cost=$price" ;; esac
  ranks=$1
  shift
  rm -rf "$folder/new"
  "$cleave" compile "$@" --out "$folder/new" 2>"$folder/log" || { grep -m1 error "$folder/log" >&2; return 0; }
  program=$example.$ranks.$(grep -v '^//' "$folder/new/program.cc" | cksum | cut -d ' ' -f 1)
  if [ ! -d "$folder/$program" ]; then
    make -s -C "$folder/new" >"$folder/log" 2>&1 || { cat "$folder/log" >&2; exit 1; }
    mv "$folder/new" "$folder/$program"
    : >"$folder/$program.times"
  fi
  echo "$example $ranks $search $price $program"
}

for ranks in 1 2; do
  plans | while read -r line; do build "$line" "$ranks"; done
done >"$folder/rows"

for _ in $(seq "$repetitions"); do
  for program in $(cut -d ' ' -f 5 "$folder/rows" | sort -u); do
    (cd "$folder/$program" && ./run.sh --steps "$steps" --quiet >/dev/null)
    step_of "$folder/$program" measured >>"$folder/$program.times"
  done
done

# The lower quartile, the median and the upper quartile of the numbers in a file.
quartiles() {
  sort -g "$1" | awk '{ v[NR] = $1 } END { printf "%.4f %.4f %.4f", v[int((NR + 3) / 4)], v[int((NR + 1) / 2)], v[int((3 * NR + 3) / 4)] }'
}

while read -r example ranks search price program; do
  echo "$example $ranks $search $price $program $(step_of "$folder/$program" predicted) $(quartiles "$folder/$program.times")"
done <"$folder/rows" | awk '
  BEGIN { printf "%-12s %5s %-14s %-8s %12s %12s %15s %7s\n", "example", "ranks", "search", "price", "predicted ms", "measured ms", "quartiles", "ratio" }
  {
    printf "%-12s %5d %-14s %-8s %12.3f %12.3f %7.3f %7.3f %7.2f\n", $1, $2, $3, $4, $6, $8, $7, $9, $6 / $8
    of = $1 " on " $2
    if ($4 == "default") standard[of] = $8
    if (!(of in fastest) || $8 < fastest[of]) fastest[of] = $8
    if (!($5 in predicted)) {
      predicted[$5] = $6; low[$5] = $7; measured[$5] = $8; high[$5] = $9; example[$5] = $1
      name[$5] = $1 " on " $2 " by " $3 " " $4
      programs[++count] = $5
    }
  }
  END {
    for (i = 1; i <= count; ++i) {
      for (j = i + 1; j <= count; ++j) {
        a = programs[i]; b = programs[j]
        if (example[a] != example[b]) continue
        ratio = measured[a] / measured[b]
        if (ratio < 1.05 && ratio > 1 / 1.05) continue
        if (low[a] <= high[b] && low[b] <= high[a]) { ++unclear; continue }
        ++pairs
        if ((ratio > 1) == (predicted[a] > predicted[b])) ++right; else printf "wrong order: %s, and %s\n", name[a], name[b]
      }
    }
    printf "%d of %d pairs that differ by more than 5 %% are in the right order; of %d more the quartiles overlap\n", right, pairs, unclear
    for (of in standard) printf "%s: the default plan takes %.2f times as long as the fastest\n", of, standard[of] / fastest[of]
  }'

for program in $(cut -d ' ' -f 5 "$folder/rows" | sort -u); do
  (cd "$folder/$program" && ./run.sh --steps "$steps" --quiet --profile >/dev/null)
  kernels_of "$folder/$program"
done | awk '{ print $1, $2, $3, ($2 > 0 ? $3 / $2 : 0) }' | sort -k 1,1 -k 4,4g | awk '
  function row() {
    if (count > 0) printf "%-12s %8d %13.3f %13.3f %9.2f %9.2f\n", kind, count, 1000 * predicted, 1000 * measured, (predicted > 0 ? measured / predicted : 0), ratio[int((count + 1) / 2)]
  }
  BEGIN { printf "\n%-12s %8s %13s %13s %9s %9s\n", "kind", "kernels", "predicted ms", "measured ms", "ratio", "median" }
  $1 != kind { row(); kind = $1; count = predicted = measured = 0 }
  { ratio[++count] = $4; predicted += $2; measured += $3 }
  END { row() }'
