"""How much longer does a step take than its matrix products, convolutions and attention alone?

products.py COMPILE MNIST_CNN TINY_GPT [STEPS [THREADS]]

Each program runs with DNNL_VERBOSE=1, so that oneDNN says how long each of its primitives takes in the same run. What it takes for products and
convolutions in its own layouts is the least that a step can take; attention, which oneDNN does not compute, counts with its operations at the rate of
the products. Both times are sums of the medians of each op, or primitive, over the steps: where other processes take the core now and then, a median of
whole steps has that in it, and one of short ops has not.
"""
import collections
import json
import os
import statistics
import subprocess
import sys
import tempfile

GPT = ["depth=6", "width=384", "heads=6", "seq=256", "batch=8", "vocab=65", "data=synthetic(train = 64, test = 8)", "steps=1000"]
# The names of ops that are attention, in the profile.
ATTENTION = ("attn.mixed.matmul", "attn.key.transpose.grad")


def median_of_products(lines, steps):
    """Seconds of a step in products and convolutions, from lines such as
    onednn_verbose,exec,cpu,matmul,brg:avx512_core,...,128x10:10x128:128x128,0.0071."""
    times = collections.defaultdict(list)
    for line in lines:
        fields = line.split(",")
        if len(fields) > 4 and fields[1] == "exec" and fields[3] in ("matmul", "convolution", "inner_product"):
            times[",".join(fields[3:-1])].append(float(fields[-1]))
    return 1e-3 * sum(statistics.median(all_of) * (len(all_of) // steps) for all_of in times.values())


def sum_of_medians(trace):
    """Seconds of a step in its ops, from the events of a trace."""
    times = collections.defaultdict(list)
    for event in json.load(open(trace))["traceEvents"]:
        if event["ph"] == "X":
            times[event["name"]].append(event["dur"])
    steps = max(len(all_of) for all_of in times.values())
    return 1e-6 * sum(statistics.median(all_of) * round(len(all_of) / steps) for all_of in times.values())


def measure(compiler, name, model, settings, steps, threads):
    with tempfile.TemporaryDirectory() as folder:
        command = [compiler, model, "--devices", "1", "--out", folder, "--quiet"]
        for setting in settings:
            command += ["--set", setting]
        subprocess.run(command, check=True)
        subprocess.run(["make", "-s", "-C", folder], check=True, stdout=subprocess.DEVNULL)
        flags = ["--steps", str(steps), "--log-every", "0", "--eval-every", "1000000", "--threads", str(threads), "--profile", "trace.json"]
        ran = subprocess.run(["./program"] + flags, cwd=folder, check=True, capture_output=True, text=True,
                             env=dict(os.environ, DNNL_VERBOSE="1"))
        profile = json.load(open(folder + "/run.json"))["profile"]
        step = sum_of_medians(folder + "/trace.json")
    # The test at the end has forward products too, of fewer batches than there are steps.
    products = median_of_products(ran.stdout.splitlines(), steps)
    flops = sum(op.get("flops", 0) for op in profile["ops"])
    attention = sum(op.get("flops", 0) for op in profile["ops"] if op["op"].endswith(ATTENTION))
    least = products * flops / (flops - attention)
    print(f"| {name} | {threads} | {flops * 1e-9:.2f} | {flops / least * 1e-9:.0f} | {least * 1e3:.1f} | {step * 1e3:.1f} |"
          f" {step / least:.2f} |", flush=True)


def main():
    compiler, cnn, gpt = (os.path.abspath(path) for path in sys.argv[1:4])
    steps = int(sys.argv[4]) if len(sys.argv) > 4 else 60
    threads = int(sys.argv[5]) if len(sys.argv) > 5 else 1
    print("| model | threads | 10^9 operations | 10^9 a second | products, ms | step, ms | step / products |")
    print("|---|---|---|---|---|---|---|")
    measure(compiler, "`mnist_cnn`", cnn, [], steps, threads)
    few = max(4, steps // 6)
    measure(compiler, "`tiny_gpt`, 6 x 384", gpt, GPT, few, threads)
    measure(compiler, "`tiny_gpt`, 6 x 384, bf16", gpt, GPT + ["precision=bf16"], few, threads)


main()
