"""Question: how much longer does a step take than its matrix products, convolutions and attention alone?

products.py COMPILE MNIST_CNN TINY_GPT [REPETITIONS [STEPS [THREADS]]]

Each program runs with DNNL_VERBOSE=1, so that oneDNN says how long each of its primitives takes, and then without. What it takes for products and
convolutions in its own layouts is the least that a step can take; attention, which oneDNN does not compute, counts with its operations at the rate of
the products. Both times are sums of the medians of each op, or primitive, over the steps of one run: where other processes take the core now and then, a
median of whole steps has that in it, and one of short ops has not. Of several runs the one with the shortest step counts.
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
        if event["ph"] == "X" and event["cat"] not in ("step", "micro-batch"):
            times[event["name"]].append(event["dur"])
    steps = max(len(all_of) for all_of in times.values())
    return 1e-6 * sum(statistics.median(all_of) * round(len(all_of) / steps) for all_of in times.values())


def run(folder, steps, threads):
    """Seconds of a step, and of its products and attention; its floating-point operations. Two runs, because what oneDNN says takes time too."""
    flags = ["--steps", str(steps), "--log-every", "0", "--eval-every", "1000000", "--threads", str(threads), "--profile", "trace.json"]

    def started(verbose):
        return subprocess.run(["./program"] + flags, cwd=folder, check=True, capture_output=True, text=True,
                              env=dict(os.environ, DNNL_VERBOSE=verbose)).stdout

    # The test at the end has forward products too, of one batch.
    products = median_of_products(started("1").splitlines(), steps)
    started("0")
    ops = json.load(open(folder + "/run.json"))["profile"]["ops"]
    flops = sum(op.get("flops", 0) for op in ops)
    attention = sum(op.get("flops", 0) for op in ops if op["op"].endswith(ATTENTION))
    return sum_of_medians(folder + "/trace.json"), products * flops / (flops - attention), flops


def measure(compiler, name, model, settings, repetitions, steps, threads):
    with tempfile.TemporaryDirectory() as folder:
        command = [compiler, model, "--devices", "1", "--out", folder, "--quiet"]
        for setting in settings:
            command += ["--set", setting]
        subprocess.run(command, check=True)
        subprocess.run(["make", "-s", "-C", folder], check=True, stdout=subprocess.DEVNULL)
        step, products, flops = min(run(folder, steps, threads) for _ in range(repetitions))
    print(f"| {name} | {threads} | {flops * 1e-9:.2f} | {flops / products * 1e-9:.0f} | {products * 1e3:.1f} | {step * 1e3:.1f} |"
          f" {step / products:.2f} |", flush=True)


def main():
    compiler, cnn, gpt = (os.path.abspath(path) for path in sys.argv[1:4])
    given = [int(argument) for argument in sys.argv[4:]]
    repetitions, steps, threads = given + [3, 60, 1][len(given):]
    print("| model | threads | 10^9 operations | 10^9 a second | products, ms | step, ms | step / products |")
    print("|---|---|---|---|---|---|---|")
    measure(compiler, "`mnist_cnn`", cnn, ["data=digits(test = 128)"], repetitions, steps, threads)
    few = max(4, steps // 6)
    measure(compiler, "`tiny_gpt`, 6 x 384", gpt, GPT, repetitions, few, threads)
    measure(compiler, "`tiny_gpt`, 6 x 384, bf16", gpt, GPT + ["precision=bf16"], repetitions, few, threads)


main()
