#!/usr/bin/env python3
"""Questions: do programs for GPUs compute what they should on this machine's GPU, and how fast are they compared with PyTorch?

    ./run.py [--seconds 480] [--results FOLDER] [--only "start losses"] [--stand-in]

Runs the parts below, in the folder that bench/gpu/prepare.sh has written, and ends within the time, whatever hangs: what tells most comes first, each
part has a limit of its own, and what a part leaves of its time others have. The folder of results (`results`) has summary.md, results.json and log.txt,
which are whole at every moment. Exits with 1 if anything failed. Needs a GPU with its driver; PyTorch, compute-sanitizer and ncu where they are; nvcc,
g++ and make only where the programs that were carried do not start. No MPI, no NCCL, no network.

--stand-in: everything is built for the CPU, with small sizes, to try this script where no GPU is.
"""
import argparse
import os
import shutil
import signal
import sys
import traceback

import libraries
from limits import Clock, Commands
from parts import Bench
from report import Report

# In this order: name, seconds at most where the script has 480, what it asks.
PARTS = [
    ("start", 90, "Do programs start and train, and what do a copy and a product reach here?"),
    ("kernels", 110, "Do kernels compute what plain references do?"),
    ("losses", 60, "Are losses those of the CPU target?"),
    ("speed", 210, "How long is a step, beside PyTorch's, and is the memory what was predicted?"),
    ("profile", 100, "What do kernels reach, and is it what was predicted?"),
    ("ranks", 60, "Do several ranks train as one does?"),
    ("sanitizer", 110, "Does compute-sanitizer find anything?"),
]


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=480, help="of which the script ends within (480)")
    parser.add_argument("--results", default="results", help="the folder of what was found (results)")
    parser.add_argument("--only", default=" ".join(name for name, _, _ in PARTS), help="the parts that run")
    parser.add_argument("--stand-in", action="store_true", help="for the CPU, to try this script")
    return parser.parse_args()


def run_part(bench, clock, name, seconds, question):
    bench.report.begin(name, question)
    began = clock.elapsed()
    state = "done"
    try:
        with clock.part(seconds):
            getattr(bench, name)()
            if clock.left() <= 0:
                state = "cut off"
    except Exception:  # noqa: BLE001: the other parts tell something still.
        state = "broken"
        bench.commands.log(f"{name} is broken", traceback.format_exc())
        print(traceback.format_exc(), file=sys.stderr)
    bench.report.end(state, clock.elapsed() - began)


def main():
    options = arguments()
    clock = Clock(options.seconds)
    results = os.path.abspath(options.results)
    os.chdir(os.path.dirname(os.path.abspath(__file__)))
    shutil.rmtree(results, ignore_errors=True)
    os.makedirs(results)
    commands = Commands(clock, os.path.join(results, "log.txt"), patience=30 if options.stand_in else 1)
    if options.stand_in:
        commands.environment.setdefault("OMP_NUM_THREADS", "1")
    else:
        commands.environment["LD_LIBRARY_PATH"] = libraries.search_path()
    report = Report(results)
    bench = Bench(commands, report, options.stand_in, options.stand_in or os.path.isdir("cudnn_frontend"))
    wanted = options.only.split()
    unknown = [name for name in wanted if name not in [part for part, _, _ in PARTS]]
    if unknown:
        sys.exit(f"run.py: there is no part {unknown[0]}")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    try:
        if "speed" in wanted:
            bench.prepare_torch()
        for name, seconds, question in PARTS:
            if name in wanted:
                run_part(bench, clock, name, seconds * options.seconds / 480, question)
    finally:
        commands.close()
    report.describe(seconds=round(clock.elapsed(), 1))
    print(f"{report.failures()} failed; {results} has summary.md, results.json and log.txt")
    return 1 if report.failures() else 0


if __name__ == "__main__":
    sys.exit(main())
