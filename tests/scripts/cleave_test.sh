#!/bin/bash
# The command `cleave`: each subcommand does what the tool of Bazel does, and what only it can do.
set -u

data=$PWD
. tests/scripts/expect.sh
expect_folder() { [ "$(ls -A "$1" | tr '\n' ' ')" = "$2" ] || fail "$1 holds $(ls -A "$1" | tr '\n' ' ')"; }

folder="$TEST_TMPDIR/a folder ü"
mkdir "$folder" && cd "$folder" || exit 1
cleave=$data/tools/cleave
cat >"größe 1.model" <<END
model Tiny(batch: int = 8) {
    input x: f32[batch, 4];
    input label: i32[batch];
    let h = relu(dense(x, 6));
    let logits = dense(h, 3);
    loss cross_entropy(logits, label);
}

train Tiny {
    data = synthetic();
    steps = 4;
}
END
model="größe 1.model"

# compile: the same files as //tools:compile.
expect_exit 0 "$cleave" compile "$model" --devices 2 --quiet
expect_exit 0 "$data/tools/compile" "$model" --devices 2 --quiet --out again
diff -r "out/größe 1" again >output || fail "cleave compile writes other files"
expect_exit 3 "$cleave" compile nowhere.model
expect_exit 2 "$cleave" compile "$model" --devices 0 --error-format json
expect_output '"code":null'

# plan: nothing is written without --out, and plan.json alone with it.
mkdir plan && cd plan || exit 1
expect_exit 0 "$cleave" plan "../$model" --devices 2
expect_output "not proven by simulation: --plan-only"
expect_folder . "output "
cd .. || exit 1
expect_exit 0 "$cleave" plan "$model" --devices 2 --out "new/plan 2"
expect_output "written to new/plan 2/plan.json"
expect_folder "new/plan 2" "plan.json "
cmp "new/plan 2/plan.json" again/plan.json >output || fail "the plan is not that of the program"
expect_exit 0 "$data/tools/compile" "$model" --devices 3 --plan-only --quiet --out "new/plan 2"
[ -s output ] && fail "--quiet prints something"
expect_exit 1 "$cleave" diff again/plan.json "new/plan 2/plan.json"
expect_exit 0 "$cleave" diff again/plan.json "out/größe 1/plan.json"
expect_exit 5 "$cleave" plan "$model" --out again
expect_output "error[E0601]: the folder \`again\` holds a program, of which its plan.json is a part"
expect_exit 5 "$cleave" plan "$model" --out "$model"
expect_output "error[E0601]: \`$model\` is not a folder"
expect_exit 5 "$cleave" plan "$model" --out "$model/below"
expect_output "error[E0602]: cannot create the folder"
expect_exit 5 "$cleave" plan "$model" --out /dev/null
expect_exit 4 "$cleave" plan "$model" --set memory=1KiB --out refused --html refused.html
[ -e refused ] && fail "a folder was made for a plan that does not exist"
[ -e refused.html ] && fail "a page was made for a plan that does not exist"
# A page for a browser, and nothing in its place that is none.
expect_exit 0 "$cleave" plan "$model" --devices 2 --html plan.html
expect_output "written to plan.html"
grep -q "A step on 2 ranks of cpu is predicted to take" plan.html || fail "the page has no verdict"
expect_exit 5 "$cleave" plan "$model" --html "$model"
expect_output "is something else than the page of a plan"
# A compile then takes the folder, with the plan that is there.
expect_exit 0 "$cleave" compile "$model" --plan "new/plan 2/plan.json" --out "new/plan 2" --quiet
[ -e "new/plan 2/program.cc" ] || fail "there is no program beside its plan"

# explain: what --explain shows, and the pages of codes.
expect_exit 0 "$cleave" explain "$model" --devices 2
expect_output "under the price"
expect_exit 0 "$cleave" explain "$model" h.matmul --devices 2
expect_output "what would have to change"
expect_exit 2 "$cleave" explain "$model" h.matmull
expect_exit 0 "$cleave" explain "$model" op:h.matmul --devices 2
expect_output "what would have to change"
expect_exit 0 "$cleave" explain "$model" memory --devices 2
expect_output "chosen: no limit of memory is known, so nothing is made again"
expect_exit 2 "$cleave" explain "$model" op:memory
expect_exit 0 "$cleave" explain "$model" time --devices 2 --rank 1
expect_output "what each kernel of a step of rank 1 takes, predicted"
expect_exit 2 "$cleave" explain "$model" time --devices 2 --rank 2
expect_output "error: --rank: the plan has ranks 0 to 1, not 2"
expect_exit 2 "$cleave" explain "$model" memory --rank 1
expect_output "error: \`--rank\` goes with \`--emit program\`, \`--emit source\` or \`--explain time\`"
expect_exit 2 "$cleave" explain "$model" op:time
expect_exit 0 "$cleave" explain E0304

# fmt: from a pipe, in place, and --check.
cp "$model" typed.model
sed -i 's/ = relu/=relu/' typed.model
expect_exit 1 "$cleave" fmt --check typed.model "$model"
expect_output "-    let h=relu(dense(x, 6));"
"$cleave" fmt <typed.model | cmp - "$model" >output || fail "fmt of a pipe"
expect_exit 0 "$cleave" fmt typed.model
cmp typed.model "$model" >output || fail "fmt in place"

# clean: nothing, then something.
cache=$TEST_TMPDIR/cache
expect_exit 0 env XDG_CACHE_HOME="$cache" "$cleave" clean
expect_output "there is no cache at $cache/cleave/runtime"
mkdir -p "$cache/cleave/runtime/key" && echo 123 >"$cache/cleave/runtime/key/a"
expect_exit 0 env XDG_CACHE_HOME="$cache" "$cleave" clean
expect_output "removed 1 file, 4 bytes, from"

# run: what follows -- goes to the program, and its exit code comes back.
expect_exit 0 "$cleave" run "$model" --devices 2 --launch local --set 'train.steps=4' --out run
expect_exit 0 "$cleave" run "$model" --devices 2 --launch local --out run -- --steps 2
[ "$(grep -c '"loss"' run/metrics.jsonl)" = 2 ] || fail "--steps did not reach the program"
expect_exit 2 "$cleave" run "$model" --devices 2 --launch local --out run -- --no-such-flag

# Full disks are seen by all.
for words in help version "completion bash" "explain E0304" "plan typed.model"; do
  "$cleave" $words >/dev/full 2>output </dev/null
  [ $? = 5 ] || fail "cleave $words does not see that the disk is full"
done
"$cleave" fmt typed.model - <typed.model >/dev/full 2>output && fail "fmt does not see that the disk is full"

exit $((failures > 0))
