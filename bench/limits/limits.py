# Trains models within limits of memory beside the same models without one; prints the table of limits.sh.
import json
import os
import re
import statistics
import subprocess
import sys

compiler, folder, repetitions, steps, *models = sys.argv[1:]
repetitions = int(repetitions)
steps = int(steps)
SHARES = [70, 50, 35, 25]  # Percent of the memory that a rank needs without a limit.
RANKS = [1, 2, 4]
DOES_NOT_FIT = 4  # The exit code of the compiler.


def plan(model, ranks, limit, out):
    """Writes the program for `limit` bytes to `out`; returns whether it fits and what the compiler said."""
    command = [compiler, model, "--devices", str(ranks), "--out", out, "--quiet"]
    for setting in ["memory=%dB" % limit, "micro_batches=auto", "log_every=1"]:
        command += ["--set", setting]
    ran = subprocess.run(command, capture_output=True, text=True)
    if ran.returncode not in (0, DOES_NOT_FIT):
        sys.exit(ran.stderr)
    return ran.returncode == 0, ran.stderr


class Program:
    """One program: what is predicted, and what its runs have measured."""

    def __init__(self, model, ranks, share, limit, out):
        fits, said = plan(model, ranks, limit, out)
        if not fits:
            limit = int(re.search(r"the smallest plan needs (\d+) bytes", said).group(1))
            fits, said = plan(model, ranks, limit, out)
            if not fits:
                sys.exit(said)
        self.share, self.limit, self.out = share, limit, out
        plan_json = json.load(open(out + "/plan.json"))
        self.micro_batches = plan_json["micro_batches"]
        self.computed = sum(op["recompute"] for op in plan_json["ops"])
        self.sent = sum(op["gather_again"] for op in plan_json["ops"])
        self.predicted_peak = plan_json["predicted"]["memory_per_rank"]["peak"]
        self.predicted_step = plan_json["predicted"]["step_seconds"]
        subprocess.run(["make", "-s", "-C", out, "COMM=local"], check=True)
        self.seconds = []

    def run(self):
        command = ["./run.sh", "--launch", "local", "--steps", str(steps), "--quiet"]
        subprocess.run(command, cwd=self.out, check=True, env=dict(os.environ, OMP_NUM_THREADS="1"))
        report = json.load(open(self.out + "/run.json"))
        self.peak = max(report["peak_memory_bytes"].values())
        self.seconds.append(report["median_step_seconds"])
        lines = [json.loads(line) for line in open(self.out + "/metrics.jsonl")]
        self.losses = [line["loss"] for line in lines if "loss" in line]


def mib(size):
    return "%.2f" % (size / 2**20)


def row(name, ranks, own, free):
    slower = [a / b for a, b in zip(own.seconds, free.seconds)]  # Runs side by side.
    apart = max(abs(a - b) / abs(b) for a, b in zip(own.losses, free.losses))
    quartiles = statistics.quantiles(slower, n=4)
    limit = "" if own is free else mib(own.limit)
    print(
        "| `%s` | %d | %s | %s | %s | %s | %d | %d ops, %d values | %.2f | %.2f | %.2f to %.2f | %.0e |"
        % (
            (name, ranks, own.share, limit, mib(own.predicted_peak), mib(own.peak), own.micro_batches)
            + (own.computed, own.sent, own.predicted_step / free.predicted_step)
            + (statistics.median(slower), quartiles[0], quartiles[2], apart)
        ),
        flush=True,
    )


def measure(model, ranks):
    name = os.path.basename(model).split(".")[0]
    place = "%s/%s_%d_" % (folder, name, ranks)
    free = Program(model, ranks, "none", 2**36, place + "free")
    programs = [free]
    for share in SHARES:
        limit = free.predicted_peak * share // 100
        own = Program(model, ranks, "%d %%" % share, limit, place + str(share))
        if own.limit > limit:
            own.share = "least, %.0f %%" % (100 * own.limit / free.predicted_peak)
        programs.append(own)
        if own.limit > limit:
            break
    for _ in range(repetitions):
        for own in programs:
            own.run()
    for own in programs:
        row(name, ranks, own, free)


for model in models:
    for ranks in RANKS:
        measure(model, ranks)
