#!/bin/bash
# Question: do all plans on all numbers of ranks train with the numbers of one rank?
#
# Trains the network of examples/mnist_mlp for STEPS steps on 1 rank and on 2, 3, 4, 6, 7, 8 ranks with the plans of sapp and data_parallel and three
# plans given by pins, and prints "A B/C": the largest relative difference A of a step's loss from the single-rank run over the first 40 steps,
# and the first step C at which it is over 1e-4 ("-": none), with the largest difference B of all steps.
#
# The control is the single-rank program with one weight moved by one unit in the last place: rounding errors grow by themselves in training, and
# no order of summation can keep two runs closer than the control stays to the original.
#
#   bazel run //bench/same_numbers [-- STEPS [DATA]]       DATA: as in a model, such as 'mnist("/path/to/mnist")'; default digits()
set -eu

steps=${1:-200}
data=${2:-digits()}
compile=$PWD/tools/compile
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

# The model with attributes on its three products; an empty attribute pins nothing.
model() {
  cat <<MODEL
model Mlp(batch: int = 256) {
    input image: f32[batch, 1, 28, 28];
    input label: i32[batch];
    param w1: f32[512, 784] = he_uniform();
    param w2: f32[512, 512] = he_uniform();
    param w3: f32[10, 512] = he_uniform();
    param b1: f32[512] = zeros();
    param b2: f32[512] = zeros();
    param b3: f32[10] = zeros();
    let x = flatten(image);
    $1
    let h1 = matmul(x, w1, transpose_b = true);
    $2
    let h2 = matmul(relu(bias_add(h1, b1)), w2, transpose_b = true);
    $3
    let h3 = matmul(relu(bias_add(h2, b2)), w3, transpose_b = true);
    let logits = bias_add(h3, b3);
    loss cross_entropy(logits, label);
}
train Mlp {
    data = $data;
    optimizer = momentum(lr = 0.05, momentum = 0.9);
    epochs = 100;
}
MODEL
}

# Builds model file $1 on $2 ranks with compiler options $3.
build() {
  # shellcheck disable=SC2086
  "$compile" "$folder/$1.model" --devices "$2" --out "$folder/out" --quiet $3
}

# Losses of what was built last, one a line.
losses() {
  make -s -C "$folder/out" >"$folder/make.log" 2>&1 || { cat "$folder/make.log" >&2; exit 1; }
  (cd "$folder/out" && ./run.sh --steps "$steps" --quiet >/dev/null)
  sed -n 's/.*"loss":\([^,}]*\).*/\1/p' "$folder/out/metrics.jsonl"
}

difference() {
  paste "$folder/one" "$folder/many" | awk -v want="$steps" '
    { d = ($1 - $2) / $1; if (d < 0) d = -d; if (d > most) most = d; if (NR <= 40) early = most
      if (d > 1e-4 && !first) first = NR; n += NF == 2 }
    END { if (n != want) print "different length"; else printf "%.0e %.0e/%s", early, most, first ? first : "-" }'
}

model '' '' '' >"$folder/free.model"
build free 1 ''
losses >"$folder/one"
sed -i 's/^    Fill(.*, b1);/    w1[0] = std::nextafter(w1[0], 1.0f);\n&/' "$folder/out/program.cc"
grep -q nextafter "$folder/out/program.cc" || { echo 'the control could not be built' >&2; exit 1; }
losses >"$folder/many"
echo "control: $(difference)"
printf '%-6s %19s %19s %19s %19s %19s\n' ranks sapp data_parallel 'pin: k k k' 'pin: j k i' 'pin: i j k'
for ranks in 2 3 4 6 7 8; do
  row=$(printf '%-6s' "$ranks")
  for search in sapp data_parallel; do
    build free "$ranks" "--search $search"
    losses >"$folder/many"
    row+=$(printf ' %19s' "$(difference)")
  done
  n=$ranks
  rows="#[shard(($n, 1), (1, 1))]" columns="#[shard((1, 1), ($n, 1))]" contracted="#[shard((1, $n), (1, $n))]"
  model "$contracted" "$contracted" "$contracted" >"$folder/kkk.model"
  model "$columns" "$contracted" "$rows" >"$folder/jki.model"
  model "$rows" "$columns" "$contracted" >"$folder/ijk.model"
  for pinned in kkk jki ijk; do
    build "$pinned" "$ranks" ''
    losses >"$folder/many"
    row+=$(printf ' %19s' "$(difference)")
  done
  echo "$row"
done
