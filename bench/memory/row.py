# Plans one model and prints one row of the table of memory.sh.
import json
import re
import resource
import subprocess
import sys
import time

compiler, model, folder, label, machine, *numbers = sys.argv[1:]
width, heads, depth, seq, batch, vocab, hosts, limit = map(int, numbers)
name = f"{label}, {8 * hosts} of {machine}"
settings = dict(devices=8 * hosts, width=width, heads=heads, depth=depth, seq=seq, batch=batch, vocab=vocab)
settings.update(precision="bf16", zero="auto", micro_batches="auto")
command = [compiler, model, "--cluster", f"{machine}*{hosts}", "--target", "cuda", "--plan-only", "--out", folder]
for setting in settings.items():
    command += ["--set", "%s=%s" % setting]
start = time.monotonic()
ran = subprocess.run(
    command, capture_output=True, text=True, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (limit, limit))
)
wall = time.monotonic() - start
usage = resource.getrusage(resource.RUSAGE_CHILDREN)
seconds = usage.ru_utime + usage.ru_stime
log = ran.stdout
if ran.returncode != 0:
    smallest = re.search(r"the smallest one needs (.*)", ran.stderr)
    why = "no plan fits; the smallest needs " + smallest.group(1) if smallest else "given up"
    print(f"| {name} | {why} | | | | | | | {seconds:.1f} | {wall:.1f} |", flush=True)
    sys.exit()

plan = json.load(open(folder + "/plan.json"))
ranks = 1
for axis in plan["mesh"]:
    ranks *= axis["size"]
# Of the first product of a layer's feed-forward: the ways in which its samples, positions and columns are cut, in most layers.
cuts = {}
for op in plan["ops"]:
    if re.fullmatch(r"x\.\d+\.ffn\.up\.matmul", op["name"]):
        text = " x ".join(str(ways) for ways in op["out_strategy"])
        cuts[text] = cuts.get(text, 0) + 1
split = max(cuts, key=cuts.get)
computed = sum(op["recompute"] for op in plan["ops"])
sent = sum(op["gather_again"] for op in plan["ops"])
step, unit = re.search(r"time +([\d.,]+) (\w+) per step", log).groups()
step = float(step.replace(",", "")) * {"s": 1, "ms": 1e-3}[unit]
# Of bf16, dense (search/model/cluster/presets.cc).
peak = {"h100x8": 989e12, "a100x8": 312e12, "b200x8": 2250e12}[machine]
parameters = 12 * depth * width * width + (vocab + seq) * width
utilisation = 6 * parameters * batch * seq / (step * ranks * peak)
memory = plan["predicted"]["memory_per_rank"]["peak"] / 2**30
print(
    f"| {name} | {plan['micro_batches']} | {computed} ops, {sent} values | {plan['search']['zero']} | {split} | {memory:.1f} | {step:.2f} |"
    f" {100 * utilisation:.0f} % | {seconds:.1f} | {wall:.1f} |",
    flush=True,
)
